#include "server/store/checkpointer.h"

#include <sqlite3.h>

#include <utility>

namespace kbench::store {
namespace {

// Pages of 4 KiB in the log: from here on beside the writer, from there on by the writer.
constexpr int kLongPages = 4000;
constexpr int kTooLongPages = 8000;
constexpr double kIdleSeconds = 10;

}  // namespace

Checkpointer::Checkpointer(std::unique_ptr<Database> db)
    : db_(std::move(db)), thread_([this] { Loop(); }) {}

Checkpointer::~Checkpointer() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void Checkpointer::Committed(Database& writer) {
  const int pages = writer.LogPages();
  bool finish = false;
  {
    MutexLock lock(mutex_);
    written_ = true;
    if (pages < last_pages_) done_ = false;  // the log began anew
    last_pages_ = pages;
    if (pages < kLongPages) return;
    finish = done_ && pages >= kTooLongPages;
    if (finish) {
      done_ = false;
    } else if (!wanted_ && !done_) {
      wanted_ = true;
      wake_.NotifyOne();
    }
  }
  // Most of it is in the file already.
  if (finish) {
    sqlite3_wal_checkpoint_v2(writer.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                              nullptr);
  }
}

void Checkpointer::Loop() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!stop_ && !wanted_) {
        const bool told = wake_.WaitFor(mutex_, kIdleSeconds);
        if (told || !written_) continue;
        written_ = false;
        break;
      }
      if (stop_) return;
    }
    sqlite3_wal_checkpoint_v2(db_->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    MutexLock lock(mutex_);
    done_ = done_ || wanted_;
    wanted_ = false;
  }
}

}  // namespace kbench::store
