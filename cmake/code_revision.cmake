# cmake -D LIST=<file> -D ROOT=<folder> -D OUTPUT=<file> -P code_revision.cmake
#
# Writes a C++ source that defines adjit::engine::kCodeRevision: a hash of the files in LIST (one a line,
# relative to ROOT), of their names and contents and nothing else. Run when one of them changes.
file(STRINGS ${LIST} files)
set(text "")
foreach(file IN LISTS files)
  file(SHA256 ${ROOT}/${file} hash)
  string(APPEND text "${file} ${hash}\n")
endforeach()
string(SHA256 revision "${text}")
string(SUBSTRING ${revision} 0 32 revision)
file(WRITE ${OUTPUT} "namespace adjit::engine {
extern const char kCodeRevision[];
const char kCodeRevision[] = \"${revision}\";
}  // namespace adjit::engine
")
