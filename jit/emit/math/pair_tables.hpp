// jit/emit/math/pair_tables.hpp -- coefficients and constants of functions without a library.
//
// Printed by pair_tables.py, which says what each one is. Of a polynomial, lowest order first, the
// first coefficients are pairs; in front of each its error.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/process/rooms.hpp"

namespace adjit::emit::pair_tables {

/// A number as the double nearest to it and the rest.
struct Number {
  double high, low;
};

// 2^-72.46
inline constexpr std::array<Number, 5> kSincFirst{
    Number{0x1.0000000000000p+0, -0x1.b5a05c30c3275p-102},
    Number{-0x1.a51a6625307d3p+0, -0x1.1873d8910ff24p-55},
    Number{0x1.9f9cb402bc46cp-1, 0x1.487acd7d063a5p-55},
    Number{-0x1.86a8e4720db67p-3, 0x1.461bc82bc6779p-58},
    Number{0x1.ac6805cf350a6p-6, 0x1.7456975e363a6p-61}};
inline constexpr std::array<double, 8> kSincRest{
    -0x1.33816aa4607abp-9,  0x1.374719fab390ep-13, -0x1.d42498d1cd612p-18, 0x1.0fc992fee5a21p-22,
    -0x1.f5f9d8fd13dd7p-28, 0x1.797850dd86bc2p-33, -0x1.d7151d41cd2fdp-39, 0x1.e4dbc2aa3a8cep-45};
// 2^-67.41
inline constexpr std::array<Number, 6> kCotangentFirst{
    Number{-0x1.a51a6625307d3p+1, -0x1.1874b79cb3101p-54},
    Number{-0x1.151322ac7d848p+1, -0x1.ac25b6a0354a1p-54},
    Number{-0x1.0470984c09247p+1, 0x1.1ff81a8f7b503p-54},
    Number{-0x1.010b36af861e3p+1, 0x1.a5c13999da149p-53},
    Number{-0x1.00412e33b0656p+1, 0x1.96057c6451fd7p-54},
    Number{-0x1.001020a328ec9p+1, 0x1.4ff936754d2b6p-53}};
inline constexpr std::array<double, 13> kCotangentRest{
    -0x1.000403f948d1ep+1, -0x1.0000f510e4e62p+1, -0x1.000128aa5be65p+1, -0x1.ffe458769739ep+0,
    -0x1.00a097696f354p+1, -0x1.f4ef2f40d26d7p+0, -0x1.2551efd068781p+1, -0x1.01ad9d157c46ap-1,
    -0x1.f14709aafaba8p+2, 0x1.c8fb32b3b4c70p+3,  -0x1.10b5245bc98b5p+5, 0x1.32afe7751b5f1p+5,
    -0x1.be17221eb5741p+4};
// 2^-69.99
inline constexpr std::array<Number, 6> kLogGammaFirst{
    Number{0x1.b0ee6072093cep-2, 0x1.6cb90701fbfabp-58},
    Number{0x1.4a34cc4a60fa6p-2, 0x1.1889613735b6fp-56},
    Number{-0x1.13e001a557607p-4, 0x1.fb3f5b04d43bdp-58},
    Number{0x1.51322ac7d8483p-6, -0x1.4d305246b021ep-63},
    Number{-0x1.e404fc218f5f1p-8, 0x1.7292410364aa9p-62},
    Number{0x1.7add6eadb6db0p-9, -0x1.bc73f529b480fp-65}};
inline constexpr std::array<double, 17> kLogGammaRest{
    -0x1.38ac5c2bf8f79p-10, 0x1.0b36af862779cp-11, -0x1.d3fd4c76b079bp-13, 0x1.a127b10065589p-14,
    -0x1.78de5be61b1aap-15, 0x1.580dcb206e6a6p-16, -0x1.3cbc929c9b9a3p-17, 0x1.2598404a22dedp-18,
    -0x1.11b38202343f3p-19, 0x1.005435e98d027p-20, -0x1.e24029d3e50c0p-22, 0x1.c9b2c129fcfb7p-23,
    -0x1.b18a9e2280df3p-24, 0x1.80e98328e1056p-25, -0x1.6e55fdba877b1p-26, 0x1.04df7c55ec7f9p-26,
    -0x1.f3a6d608d5e35p-28};
// 2^-65.59
inline constexpr std::array<Number, 6> kDigammaFirst{
    Number{0x1.b0ee6072093cep-2, 0x1.6cbee6991d206p-58},
    Number{0x1.4a34cc4a60fa6p-1, 0x1.18737a97f1866p-55},
    Number{-0x1.9dd002780310ap-3, 0x1.d7cd8a5d81dfep-58},
    Number{0x1.51322ac7d8483p-4, 0x1.bcfedf68310dbp-58},
    Number{-0x1.2e831d94f99adp-5, -0x1.fe35969ebc503p-61},
    Number{0x1.1c2613024911ap-6, 0x1.621d309836a1ap-63}};
inline constexpr std::array<double, 18> kDigammaRest{
    -0x1.1196d0a67a7b9p-7,  0x1.0b36af863a25bp-8,  -0x1.073e7b0268aaap-9,  0x1.04b8ce96805c7p-10,
    -0x1.0318df4b4a537p-11, 0x1.020a5b53c3a6fp-12, -0x1.01593158debcap-13, 0x1.00e4a672bb3a0p-14,
    -0x1.009905030209ep-15, 0x1.0066162e2abffp-16, -0x1.0022f67c6090bp-17, 0x1.000c88b02df62p-18,
    -0x1.022b9910e0eb6p-19, 0x1.0221ac9a3e74bp-20, -0x1.d5f55d439da4cp-22, 0x1.d5ecb1bef63e0p-23,
    -0x1.77e9a0d134523p-23, 0x1.77e751fce331bp-24};
// 2^-68.93
inline constexpr std::array<Number, 5> kErfinvMiddleFirst{
    Number{0x1.c5bf891b4ef6bp-1, -0x1.618f37bf0d469p-55},
    Number{0x1.db29fb2fee5e4p-3, -0x1.114f6da4101bcp-60},
    Number{0x1.053c2c0ab91c3p-3, -0x1.66a631ce5c33dp-57},
    Number{0x1.62847c47ddd71p-4, -0x1.0d9b9dd2982b9p-59},
    Number{0x1.0a13189c5d46ep-4, -0x1.1b0464707438bp-58}};
inline constexpr std::array<double, 13> kErfinvMiddleRest{
    0x1.a7c85c913f45dp-5, 0x1.5eeb1c3a84ecfp-5,  0x1.2abab322c6f19p-5, 0x1.0396cb8aa3232p-5,
    0x1.caa11d7f3b717p-6, 0x1.98043a19401b2p-6,  0x1.812398cfc92a8p-6, 0x1.fc67a1fdd9782p-7,
    0x1.4b19c9f336a87p-5, -0x1.8d49dbaab322dp-5, 0x1.4171930e4064ap-3, -0x1.68701bd4f3c1dp-3,
    0x1.2e7a8071902ccp-3};
// 2^-71.76
inline constexpr std::array<Number, 7> kErfinvTail1First{
    Number{0x1.76135af468ae0p-1, 0x1.259cd08559b96p-57},
    Number{0x1.feec56c309031p-1, -0x1.af84de81bb8f6p-56},
    Number{0x1.72bab507759bap-4, -0x1.052e0a4fe0498p-58},
    Number{-0x1.73448ad5db89dp-4, 0x1.c6a7607d67834p-58},
    Number{0x1.002159a285367p-4, -0x1.7e6c114491030p-62},
    Number{-0x1.0b24e5e0c0241p-5, -0x1.9978ccdfd7d42p-60},
    Number{0x1.6a321e8eaf2c1p-7, -0x1.331ef483717d6p-61}};
inline constexpr std::array<double, 13> kErfinvTail1Rest{
    0x1.3f9e22d7eb1a8p-11,  -0x1.35614133841c5p-8, 0x1.29cc69e6c44c5p-8,   -0x1.698399f6366c1p-9,
    0x1.ff18a41a98cdfp-11,  0x1.3e378ecec2a14p-13, -0x1.31ca8f729c6dfp-11, 0x1.224495f2006b7p-11,
    -0x1.5c638ad634485p-12, 0x1.cb0cc4b1a4a90p-14, 0x1.296d8a60d9284p-15,  -0x1.b2eac19ec3fbep-14,
    0x1.5b516ccd7c436p-14};
// 2^-68.76
inline constexpr std::array<Number, 7> kErfinvTail2First{
    Number{0x1.6ffabe42877d2p+0, 0x1.58aceb2d9c8f4p-57},
    Number{0x1.0c40d33e9a061p+0, 0x1.836ca7379b865p-54},
    Number{0x1.e8eb58095afb5p-8, 0x1.da220145f5853p-62},
    Number{-0x1.b5ae2ad0abed3p-7, -0x1.971cd4a91de54p-63},
    Number{0x1.334384a1b3b41p-7, -0x1.152600c3565c1p-62},
    Number{-0x1.52582d12b6aaep-8, 0x1.a916b0cc074bep-69},
    Number{0x1.41bba7f1db94dp-9, 0x1.280bee8952412p-64}};
inline constexpr std::array<double, 13> kErfinvTail2Rest{
    -0x1.0c5ca0b61367ap-10, 0x1.7d97a66b3deb4p-12,  -0x1.99ab63e8ac1dap-14, 0x1.0274982fe7bddp-17,
    0x1.c6f171c9f71c8p-17,  -0x1.b1f22c39d3a97p-17, 0x1.0c901f6a68c8fp-17,  -0x1.0b85a6fa3b797p-18,
    0x1.ba30f5edb50edp-20,  -0x1.24a2e89f025edp-21, 0x1.96d261dd996cdp-24,  0x1.6d0ebfdd27837p-24,
    -0x1.5486b1585d110p-24};
// 2^-67.05
inline constexpr std::array<Number, 7> kErfinvTail3First{
    Number{0x1.4e25e39cdbe82p+1, 0x1.5d7054512c602p-55},
    Number{0x1.0af7aa3e37563p+0, -0x1.fc9b4656ec5f1p-56},
    Number{-0x1.64753b2604192p-8, -0x1.e732c6a5e8a46p-62},
    Number{-0x1.9567eacebb3c9p-14, 0x1.77aa495a80d5dp-69},
    Number{0x1.f20321d45b13cp-12, 0x1.f3fc7ee05e0aap-69},
    Number{-0x1.107aab0d44919p-12, -0x1.253dfe46c5b37p-66},
    Number{0x1.c5a3405c2e599p-14, -0x1.0fa173652090cp-69}};
inline constexpr std::array<double, 13> kErfinvTail3Rest{
    -0x1.4dae1ffb9d9d3p-15, 0x1.c5de4debef8cdp-17,  -0x1.226e7d50b132cp-18, 0x1.5fc0a788fa94dp-20,
    -0x1.92726b5937815p-22, 0x1.aebd532c0deafp-24,  -0x1.a52b9175b5c42p-26, 0x1.61ba1ba12ac67p-28,
    -0x1.a1169e2f34ba4p-31, -0x1.e88b0b417f9f6p-38, 0x1.6f29fa43f1ff7p-34,  -0x1.4c76bca159dfcp-34,
    0x1.08af3c2356bd7p-35};
// 2^-68.96
inline constexpr std::array<Number, 7> kErfinvTail4First{
    Number{0x1.270e26b6218a9p+2, 0x1.9bd078382022cp-56},
    Number{0x1.0690b39ef19f8p+0, 0x1.73a479a8ed79fp-54},
    Number{-0x1.a304761a63408p-9, 0x1.0edb2a1e87259p-63},
    Number{0x1.8b80b85063602p-12, 0x1.4fd11b96fc4bdp-67},
    Number{-0x1.27ebf5006b336p-15, 0x1.b74a6abee4248p-70},
    Number{0x1.20dddf457c3e8p-21, 0x1.0f392fe6f4e9fp-76},
    Number{0x1.069cb9f132221p-20, -0x1.ee624285c7671p-74}};
inline constexpr std::array<double, 14> kErfinvTail4Rest{
    -0x1.95d06238935d8p-22, 0x1.c73f9d0e25f72p-24, -0x1.c1becf411e410p-26, 0x1.9e09a9690f635p-28,
    -0x1.6bd435c3b3171p-30, 0x1.34e55b4c4d57cp-32, -0x1.fe25453fa41b8p-35, 0x1.9b646872033a7p-37,
    -0x1.455d2245e09a7p-39, 0x1.f69586edb2f1ap-42, -0x1.6f92fd4be329dp-44, 0x1.1149a782bc3f6p-46,
    -0x1.001c58b9d94cap-48, 0x1.5ef0ac22987e7p-51};
/// log(2 pi) / 2
inline constexpr Number kHalfLogOfTwoPi{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
/// The middles of the intervals of kErfinvTail1 .. 4 and the ends between them.
inline constexpr std::array<double, 4> kErfinvMiddles{0x1.1851eb851eb85p+0, 0x1.c7ae147ae147bp+0,
                                                      0x1.7333333333333p+1, 0x1.3570a3d70a3d7p+2};
inline constexpr std::array<double, 3> kErfinvEnds{0x1.5c28f5c28f5c3p+0, 0x1.199999999999ap+1,
                                                   0x1.ccccccccccccdp+1};
/// Of the zero of lgamma(-a) in each half interval from 2 on: the double a next to it, the value
/// there, five coefficients of powers of the distance from a, and the distance up to which they
/// serve.
inline constexpr std::array<double, 240> kGammaZeros{
    0x1.3a7fc9600f86cp+1,    0x1.0323b6d1fe86dp-54,   -0x1.83fe966af5360p+0,
    0x1.36eebb002f55dp+2,    -0x1.694a6058a785ep+0,   0x1.1718d7ca09e5cp+3,
    -0x1.7339fe04b276ap+2,   0x1.d3fe4b007c361p-13,   0x1.5fb410a1bd901p+1,
    0x1.8fb8530ba7689p-53,   0x1.ea12da904b194p+0,    0x1.3267f3c265a55p+3,
    0x1.4185ac30c8bf8p+4,    0x1.f504accc9f1a7p+5,    0x1.8588458207eb8p+7,
    0x1.025f7af2137fap-13,   0x1.9260dbc9e59afp+1,    0x1.e9605e3ae7a62p-50,
    -0x1.f20a65f2fac62p+2,   0x1.9d4d297715104p+4,    -0x1.c1137124d5c7fp+6,
    0x1.267203d776b2dp+9,    -0x1.99a6337da3a14p+11,  0x1.260dbc9e59af8p-14,
    0x1.fa471547c2fe5p+1,    -0x1.ddc0336980b58p-52,  0x1.4b99d966c5644p+4,
    0x1.f76deae0436b6p+7,    0x1.d25359d4b2f2dp+11,   0x1.e8f829f141a96p+15,
    0x1.116f7806d26c8p+20,   0x1.6e3aae0f406bdp-16,   0x1.0284e78599581p+2,
    -0x1.982d05a2f456bp-48,  -0x1.aca5cf492161cp+4,   0x1.44415cd813f51p+8,
    -0x1.559b11b2a9c1bp+12,  0x1.96d18e21aeb41p+16,   -0x1.0261eb5732dc6p+21,
    0x1.4273c2ccac062p-16,   0x1.3f7577a6eeafdp+2,    0x1.3e8f4cd45ea7bp-46,
    0x1.d224a3ef9e4b5p+6,    0x1.b533c678a3a6ap+12,   0x1.0d3f7fee65e33p+19,
    0x1.752a6f5ac28fdp+25,   0x1.13d5d163bd5abp+32,   0x1.1510b222a0657p-18,
    0x1.4086a57f0b6d9p+2,    0x1.867827fdc0e93p-48,   -0x1.ed72e0829ae30p+6,
    0x1.cecc32ec22ff2p+12,   -0x1.253d8563f72b6p+19,  0x1.a225df2da6f00p+25,
    -0x1.3e01773762706p+32,  0x1.0d4afe16db219p-18,   0x1.7fe92f591f40dp+2,
    -0x1.0b134f9ffc148p-42,  0x1.661f6a43a5834p+9,    0x1.f79dcb794e1f9p+17,
    0x1.d6e8088a188e7p+26,   0x1.ef5d308dbdc35p+35,   0x1.15ea6b0ab3be8p+45,
    0x1.6d0a6e0bf2a09p-21,   0x1.8016b25897c8dp+2,    -0x1.a23d2367ff1e9p-45,
    -0x1.69de49e3af184p+9,   0x1.fce23484cf9d3p+17,   -0x1.de503a3c377afp+26,
    0x1.f9c7b5255844bp+35,   -0x1.1d3d507143ce0p+45,  0x1.6b25897c8ced8p-21,
    0x1.bffcbf76b86f0p+2,    0x1.de8db1b9953d0p-45,   0x1.3abf7a5ceaa42p+12,
    0x1.8349a25504501p+23,   0x1.3d91dadc987a3p+35,   0x1.24f3d636f3781p+47,
    0x1.20427df1b39d6p+59,   0x1.a044a3c880185p-24,   0x1.c0033fdedfe1fp+2,
    -0x1.638f6c2b4fb95p-40,  -0x1.3b407aa386079p+12,  0x1.83e85daaf7784p+23,
    -0x1.3e552b5e36f48p+35,  0x1.25e42a45e2a5ap+47,   -0x1.216a35606c65dp+59,
    0x1.9fef6ff0f5be9p-24,   0x1.ffff97f8159cfp+2,    -0x1.2a8c24e015bf0p-39,
    0x1.3af76fe4c01c0p+15,   0x1.838e76caa8024p+29,   0x1.3de68b324da1dp+44,
    0x1.255c052526160p+59,   0x1.20c2a84173fefp+74,   0x1.a01fa98c3c356p-27,
    0x1.000034028b3f9p+3,    0x1.34e935f3e5a5dp-36,   -0x1.3b088fed7f333p+15,
    0x1.83a389358b654p+29,   -0x1.3e0078dbd2cc3p+44,  0x1.257bec94bcad0p+59,
    -0x1.20e9ea07c2952p+74,  0x1.a01459fc9f60dp-27,   0x1.1ffffa3884bd0p+3,
    -0x1.6211e6b51db52p-34,  0x1.625edfc5c32a9p+18,   0x1.ea8c15032d6b2p+35,
    0x1.c4b30e49efc3ep+53,   0x1.d5fe468b31e4ap+71,   0x1.043d21ba62f3ap+90,
    0x1.71ded0bf801bdp-30,   0x1.200005c7768fbp+3,    0x1.2ef5ea4b4dd94p-35,
    -0x1.626120394db03p+18,  0x1.ea8f32fc107b3p+35,   -0x1.c4b75ee757148p+53,
    0x1.d6043fa315c82p+71,   -0x1.044144129bfe6p+90,  0x1.71dda3ec36b6cp-30,
    0x1.3fffff6c0d7c0p+3,    0x1.e71234a0c85f6p-30,   0x1.baf7da6c62cafp+21,
    0x1.7f3e87a8c367cp+42,   0x1.ba18bf24185e1p+63,   0x1.1ede14987a903p+85,
    0x1.8d1a9af0abcc9p+106,  0x1.27e50808cbe75p-33,   0x1.40000093f2777p+3,
    0x1.5c377c9a79b5ap-30,   -0x1.baf825aa305fbp+21,  0x1.7f3ec8be50558p+42,
    -0x1.ba192fc25a940p+63,  0x1.1ede7607a6635p+85,   -0x1.8d1b4389012ddp+106,
    0x1.27e4eee649ed1p-33,   0x1.5ffffff28cdd4p+3,    0x1.102aa0e23a287p-27,
    0x1.308a7db726738p+25,   0x1.6a493866a6856p+49,   0x1.1f51f6b924a60p+74,
    0x1.00599439c2f38p+99,   0x1.e7ee7f112829ep+123,  0x1.ae64583932495p-37,
    0x1.6000000d7322ap+3,    0x1.d5cec19a5810cp-26,   -0x1.308a82fd0b31bp+25,
    0x1.6a493f229265cp+49,   -0x1.1f51febbf16dep+74,  0x1.00599dc16ba78p+99,
    -0x1.e7ee95bda8a5bp+123, 0x1.ae6454c576597p-37,   0x1.7ffffffee1127p+3,
    -0x1.9c4f89e039ea6p-25,  0x1.c8cfbe3f4ce98p+28,   0x1.97925f737b552p+56,
    0x1.e4da50586dd81p+84,   0x1.44715f991abc2p+113,  0x1.cf27629d491fcp+141,
    0x1.1eed8f18f0438p-40,   0x1.800000011eed9p+3,    -0x1.f6e87484c2c6dp-25,
    -0x1.c8cfbe9021dd0p+28,  0x1.97925f737b552p+56,   -0x1.e4da50586dd81p+84,
    0x1.44715f991abc2p+113,  -0x1.cf27629d491fcp+141, 0x1.1eed8ee62acf8p-40,
    0x1.9fffffffe9edcp+3,    0x1.19f5f53428584p-18,   0x1.7329322df1be9p+32,
    0x1.0d10370ce9b7ep+64,   0x1.041132c07b34dp+96,   0x1.1acb14b810a03p+128,
    0x1.480173feb05c8p+160,  0x1.6124613d00d0bp-44,   0x1.a000000016124p+3,
    0x1.19e7986b5458cp-18,   -0x1.7329323326704p+32,  0x1.0d10370ce9b7ep+64,
    -0x1.041132c07b34dp+96,  0x1.1acb14b810a03p+128,  -0x1.480173feb05c8p+160,
    0x1.612461380cd08p-44,   0x1.bffffffffe6c7p+3,    0x1.280037eb4492dp-14,
    0x1.44c99097714cep+36,   0x1.9c0ed4b422d84p+71,   0x1.5c84ce6393729p+107,
    0x1.4b9fdebfe24b5p+143,  0x1.5095f498db160p+179,  0x1.93974a8c3cf6cp-48,
    0x1.c000000001939p+3,    0x1.2800270e342a1p-14,   -0x1.44c99097c6e12p+36,
    0x1.9c0ed4b422d84p+71,   -0x1.5c84ce6393729p+107, 0x1.4b9fdebfe24b5p+143,
    -0x1.5095f498db160p+179, 0x1.93974a8bd29cfp-48,   0x1.dfffffffffe52p+3,
    0x1.2ed7d83e61be3p-10,   0x1.30d190130a5b5p+40,   0x1.6af261b9cf4c3p+79,
    0x1.201b4acbdaed8p+119,  0x1.014930ef336eep+159,  0x1.ea28d90ee8c5fp+198,
    0x1.ae7f3e733f622p-52,   0x1.e0000000001aep+3,    0x1.2ed7d82bf7333p-10,
    -0x1.30d190130fd6bp+40,  0x1.6af261b9cf4c3p+79,   -0x1.201b4acbdaed8p+119,
    0x1.014930ef336eep+159,  -0x1.ea28d90ee8c5fp+198, 0x1.ae7f3e7337a1dp-52,
    0x1.fffffffffffe5p+3,    -0x1.c8cd60c47431ap-9,   0x1.2f684bda12c9bp+44,
    0x1.67980e0bf08c7p+87,   0x1.1c1fa5f678884p+131,  0x1.f91bd1b62b9cfp+174,
    0x1.deeaf82430efdp+218,  0x1.ae7f3e733bc16p-56,   0x1.000000000000dp+4,
    0x1.189e5e41567fep-5,    -0x1.3b13b13b13de1p+44,  0x1.83c977ab2beddp+87,
    -0x1.3e2f271cdbd6dp+131, 0x1.25b55f2e54c65p+175,  -0x1.21309cbb6729ap+219,
    0x1.ae7f3e733b428p-56,   0x1.0ffffffffffffp+4,    -0x1.df3fff389c4e6p-3,
    0x1.fffffffffffa4p+47,   0x1.0000000000000p+95,   0x1.5555555555555p+142,
    0x1.0000000000000p+190,  0x1.999999999999ap+237,  0x1.952c77030ad84p-60};
/// The bits of 2 / pi, 64 of them in front of the point.
inline constexpr std::array<uint32_t, 40> kTwoOverPi{
    0x0,        0x0,        0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x6492eea,  0x9d1921c,  0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

}  // namespace adjit::emit::pair_tables
