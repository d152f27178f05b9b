#include "tests/server/store/losing_vfs.h"

#include <sqlite3.h>

#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace kbench::store {
namespace {

// What a file was before a write: bytes at a place, and the size.
struct Undo {
  sqlite3_int64 offset = 0;
  sqlite3_int64 size = 0;
  std::string bytes;
};

struct Disk {
  std::mutex mutex;
  sqlite3_vfs* base = nullptr;
  bool dead = false;
  bool lies = false;
  std::map<std::string, std::vector<Undo>> unsynced;  // by path
};

Disk& TheDisk() {
  static Disk* const disk = new Disk;
  return *disk;
}

struct File {
  sqlite3_file base;
  std::string* path;
  sqlite3_file* Real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* Of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
sqlite3_file* Real(sqlite3_file* file) { return Of(file)->Real(); }

Undo Before(sqlite3_file* real, sqlite3_int64 offset, sqlite3_int64 length) {
  Undo undo{offset, 0, {}};
  real->pMethods->xFileSize(real, &undo.size);
  const sqlite3_int64 kept = std::min(length, undo.size - offset);
  if (kept <= 0) return undo;
  undo.bytes.resize(static_cast<std::size_t>(kept));
  real->pMethods->xRead(real, undo.bytes.data(), static_cast<int>(kept), offset);
  return undo;
}

int Write(sqlite3_file* file, const void* data, int amount, sqlite3_int64 offset) {
  Disk& disk = TheDisk();
  const std::lock_guard<std::mutex> lock(disk.mutex);
  if (disk.dead) return SQLITE_IOERR_WRITE;
  disk.unsynced[*Of(file)->path].push_back(Before(Real(file), offset, amount));
  return Real(file)->pMethods->xWrite(Real(file), data, amount, offset);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  Disk& disk = TheDisk();
  const std::lock_guard<std::mutex> lock(disk.mutex);
  if (disk.dead) return SQLITE_IOERR_TRUNCATE;
  disk.unsynced[*Of(file)->path].push_back(Before(Real(file), size, 1 << 30));
  return Real(file)->pMethods->xTruncate(Real(file), size);
}

// The data is not really synced: what counts as lost is decided here.
int Sync(sqlite3_file* file, int) {
  Disk& disk = TheDisk();
  const std::lock_guard<std::mutex> lock(disk.mutex);
  if (disk.dead) return SQLITE_IOERR_FSYNC;
  if (!disk.lies) disk.unsynced.erase(*Of(file)->path);
  return SQLITE_OK;
}

int Close(sqlite3_file* file) {
  const int code = Real(file)->pMethods->xClose(Real(file));
  delete Of(file)->path;
  return code;
}

int Read(sqlite3_file* file, void* data, int amount, sqlite3_int64 offset) {
  return Real(file)->pMethods->xRead(Real(file), data, amount, offset);
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Real(file)->pMethods->xFileSize(Real(file), size);
}
int Lock(sqlite3_file* file, int level) { return Real(file)->pMethods->xLock(Real(file), level); }
int Unlock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xUnlock(Real(file), level);
}
int Reserved(sqlite3_file* file, int* out) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), out);
}
int Control(sqlite3_file* file, int what, void* argument) {
  return Real(file)->pMethods->xFileControl(Real(file), what, argument);
}
int SectorSize(sqlite3_file* file) { return Real(file)->pMethods->xSectorSize(Real(file)); }
int Characteristics(sqlite3_file* file) {
  return Real(file)->pMethods->xDeviceCharacteristics(Real(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return Real(file)->pMethods->xShmMap(Real(file), page, size, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return Real(file)->pMethods->xShmLock(Real(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) { Real(file)->pMethods->xShmBarrier(Real(file)); }
int ShmUnmap(sqlite3_file* file, int remove) {
  return Real(file)->pMethods->xShmUnmap(Real(file), remove);
}

// Version 2: no memory mapping, whose writes nobody would see.
constexpr sqlite3_io_methods kMethods = {
    2,        Close,    Read,    Write,      Truncate,        Sync,   FileSize, Lock,
    Unlock,   Reserved, Control, SectorSize, Characteristics, ShmMap, ShmLock,  ShmBarrier,
    ShmUnmap, nullptr,  nullptr};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  Disk& disk = TheDisk();
  new (file) File{{nullptr}, nullptr};
  const int code = disk.base->xOpen(disk.base, name, Real(file), flags, out_flags);
  if (Real(file)->pMethods == nullptr) return code;
  Of(file)->path = new std::string(name != nullptr ? name : "");
  file->pMethods = &kMethods;
  return code;
}

int Delete(sqlite3_vfs*, const char* name, int sync) {
  Disk& disk = TheDisk();
  const std::lock_guard<std::mutex> lock(disk.mutex);
  if (disk.dead) return SQLITE_IOERR_DELETE;
  disk.unsynced.erase(name);
  return disk.base->xDelete(disk.base, name, sync);
}

void Register() {
  static sqlite3_vfs vfs;
  Disk& disk = TheDisk();
  if (disk.base != nullptr) return;
  disk.base = sqlite3_vfs_find(nullptr);
  vfs = *disk.base;
  vfs.zName = LosingVfs::Name();
  vfs.szOsFile = static_cast<int>(sizeof(File)) + disk.base->szOsFile;
  vfs.xOpen = Open;
  vfs.xDelete = Delete;
  vfs.pNext = nullptr;
  sqlite3_vfs_register(&vfs, 0);
}

// Back to what was synced: the undo of each write, the newest first.
int Undone(Disk& disk, const std::string& path, const std::vector<Undo>& undos) {
  std::vector<char> space(static_cast<std::size_t>(disk.base->szOsFile));
  auto* file = reinterpret_cast<sqlite3_file*>(space.data());
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_DB;
  if (disk.base->xOpen(disk.base, path.c_str(), file, flags, &flags) != SQLITE_OK) return 0;
  for (auto undo = undos.rbegin(); undo != undos.rend(); ++undo) {
    if (!undo->bytes.empty()) {
      file->pMethods->xWrite(file, undo->bytes.data(), static_cast<int>(undo->bytes.size()),
                             undo->offset);
    }
    file->pMethods->xTruncate(file, undo->size);
  }
  file->pMethods->xClose(file);
  return static_cast<int>(undos.size());
}

}  // namespace

const char* LosingVfs::Name() { return "kbench-losing"; }

void LosingVfs::Reset() {
  Register();
  Disk& disk = TheDisk();
  const std::lock_guard<std::mutex> lock(disk.mutex);
  disk.dead = false;
  disk.lies = false;
  disk.unsynced.clear();
}

void LosingVfs::LieAboutSyncs(bool lie) {
  Disk& disk = TheDisk();
  const std::lock_guard<std::mutex> lock(disk.mutex);
  disk.lies = lie;
}

int LosingVfs::LosePower() {
  Disk& disk = TheDisk();
  const std::lock_guard<std::mutex> lock(disk.mutex);
  disk.dead = true;
  int undone = 0;
  for (const auto& [path, undos] : disk.unsynced) undone += Undone(disk, path, undos);
  disk.unsynced.clear();
  return undone;
}

}  // namespace kbench::store
