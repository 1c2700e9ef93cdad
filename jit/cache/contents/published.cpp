// jit/cache/contents/published.cpp -- the journal of publications.
#include "jit/cache/contents/published.hpp"

#include <array>
#include <string>

#include "jit/cache/files/directory.hpp"
#include "jit/cache/files/free_name.hpp"

namespace adjit::cache {

namespace {

constexpr size_t kRecordBytes = sizeof(uint64_t);
constexpr off_t kBegunAnewAt = 1 << 16;  // bytes: then it is begun anew

using Record = std::array<unsigned char, kRecordBytes>;

Record record_of(uint64_t bytes) {
  Record record;
  for (size_t k = 0; k < kRecordBytes; ++k)
    record[k] = static_cast<unsigned char>(bytes >> (8 * k));
  return record;
}

uint64_t sum_of(std::string_view records) {
  uint64_t sum = 0;
  for (size_t at = 0; at + kRecordBytes <= records.size(); at += kRecordBytes)
    for (size_t k = 0; k < kRecordBytes; ++k)
      sum += uint64_t{static_cast<unsigned char>(records[at + k])} << (8 * k);
  return sum;
}

}  // namespace

std::optional<uint64_t> Published::add(FileSystem& files, int directory, uint64_t bytes) {
  struct stat status{};
  int error = 0;
  const Descriptor file =
      open_journal(files, directory, kPublishedName, O_RDWR | O_APPEND | O_CREAT, status, error);
  const Record record = record_of(bytes);
  const std::string_view text(reinterpret_cast<const char*>(record.data()), record.size());
  if (!file || write_all(files, file.number(), text) != 0 ||
      files.status(file.number(), status) != 0) {
    file_ = 0;
    return std::nullopt;
  }
  const std::optional<uint64_t> sum = since_last(files, file.number(), status);
  if (status.st_size > kBegunAnewAt) free_name(files, directory, kPublishedName);
  return sum;
}

std::optional<uint64_t> Published::since_last(FileSystem& files, int descriptor,
                                              const struct stat& status) {
  // A file that was begun anew may have the number of the old one, but not our record as well.
  const bool known =
      file_ == status.st_ino && read_ + static_cast<off_t>(kRecordBytes) <= status.st_size;
  const auto size = static_cast<size_t>(known ? status.st_size - read_ : 0);
  std::string records(size, '\0');
  const bool whole =
      known && files.read_at(descriptor, records.data(), size, read_) == static_cast<ssize_t>(size);
  file_ = status.st_ino;
  read_ = status.st_size;
  if (!whole) return std::nullopt;
  return sum_of(records);
}

}  // namespace adjit::cache
