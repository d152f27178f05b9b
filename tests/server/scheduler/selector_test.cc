// Selectors: what each form selects, what is wrong with a text, and that no text breaks the reader.
#include "server/scheduler/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace kbench::scheduler {
namespace {

WorkerEntry Gpu(const std::string& name, const std::string& model, const std::string& architecture,
                std::map<std::string, std::string> labels = {}) {
  WorkerEntry entry;
  entry.device = name;
  entry.device_kind = "cuda";
  entry.uuid = "GPU-" + name;
  entry.model = model;
  entry.architecture = architecture;
  entry.labels = std::move(labels);
  return entry;
}

WorkerEntry Cpu() {
  WorkerEntry entry;
  entry.device = "cpu";
  entry.device_kind = "cpu";
  entry.model = "AMD EPYC 7763 64-Core Processor";
  entry.architecture = "x86-64-v3";
  return entry;
}

const WorkerEntry kH200 = Gpu("gpu0", "NVIDIA H200", "sm_90", {{"rack", "a"}, {"pool", "big"}});
const WorkerEntry kH100 = Gpu("gpu1", "NVIDIA H100 80GB HBM3", "sm_90a", {{"rack", "b"}});
const WorkerEntry kL4 = Gpu("gpu2", "NVIDIA L4", "sm_89");
const WorkerEntry kB200 = Gpu("b0", "NVIDIA B200", "sm_100");

struct Selecting {
  const char* text;
  std::vector<std::string> selected;
};

const Selecting kSelecting[] = {
    {"", {"gpu0", "gpu1", "gpu2", "b0", "cpu"}},
    {"  ", {"gpu0", "gpu1", "gpu2", "b0", "cpu"}},
    {"gpu0", {"gpu0"}},
    {" gpu0 ", {"gpu0"}},
    {"GPU0", {}},
    {"GPU-gpu1", {"gpu1"}},
    {"gpu", {"gpu0", "gpu1", "gpu2", "b0"}},
    {"cpu", {"cpu"}},
    {"model=H200", {"gpu0"}},
    {"model=h200", {"gpu0"}},
    {"model=nvidia h100", {"gpu1"}},
    {"model=H100 HBM3", {}},  // words of the model in a row
    {"model=H20", {}},        // a whole word, not the start of one
    {"model=NVIDIA", {"gpu0", "gpu1", "gpu2", "b0"}},
    {"model=EPYC", {"cpu"}},
    {"model=64-core", {"cpu"}},
    {"cc=9.0", {"gpu0", "gpu1"}},
    {"cc=8.9", {"gpu2"}},
    {"cc=10.0", {"b0"}},
    {"cc=1.00", {}},
    {"cc>=9.0", {"gpu0", "gpu1", "b0"}},
    {"cc>= 8.9", {"gpu0", "gpu1", "gpu2", "b0"}},
    {"label:rack=a", {"gpu0"}},
    {"label:rack=", {}},
    {"label:nobody=a", {}},
    {"cc=9.0,label:rack=b", {"gpu1"}},
    {"gpu, model=L4", {"gpu2"}},
    {"gpu0,gpu1", {}},
    {"gpu0,cpu", {}},
};

TEST(Selector, EachFormSelects) {
  for (const Selecting& one : kSelecting) {
    std::vector<std::string> selected;
    for (const WorkerEntry& device : {kH200, kH100, kL4, kB200, Cpu()}) {
      if (Selects(std::string(one.text), device)) selected.push_back(device.device);
    }
    EXPECT_EQ(selected, one.selected) << one.text;
  }
}

struct Wrong {
  const char* text;
  const char* part;
};

const Wrong kWrong[] = {
    {",", "empty term"},
    {"gpu0,", "empty term"},
    {"gpu0,,model=L4", "empty term"},
    {"model=", "model=H200"},
    {"model= - ", "model=H200"},
    {"cc=", "cc=9.0"},
    {"cc=9", "cc=9.0"},
    {"cc=nine", "cc=9.0"},
    {"cc=9.00", "cc=9.0"},
    {"cc>=9.x", "cc>=8.9"},
    {"cc<=9.0", "a term is"},
    {"label:", "label:rack=a"},
    {"label:rack", "label:rack=a"},
    {"label:=a", "label:rack=a"},
    {"rack=a", "a term is"},
    {"name:gpu0", "a term is"},
};

TEST(Selector, WhatIsWrongIsNamedWithWhatWouldBeRight) {
  for (const Wrong& one : kWrong) {
    Selector selector;
    std::string error;
    EXPECT_FALSE(ParseSelector(one.text, &selector, &error)) << one.text;
    EXPECT_THAT(error, ::testing::HasSubstr(one.part)) << one.text;
    EXPECT_FALSE(Selects(std::string(one.text), kH200)) << one.text << " selects nothing";
  }
}

TEST(Selector, OnlyAKindAloneMayMixModels) {
  for (const char* text : {"", " ", "gpu", "cpu", " gpu "}) EXPECT_TRUE(MayMixModels(text)) << text;
  for (const char* text : {"gpu0", "gpu,cc=9.0", "cc=9.0", "model=H200", "gpu,"}) {
    EXPECT_FALSE(MayMixModels(text)) << text;
  }
}

// Texts made of the grammar's own pieces and of any bytes: read or refused with a reason, and the
// quick way of one word agrees with the reader.
TEST(Selector, NoTextBreaksTheReader) {
  const char* const pieces[] = {
      "gpu",  "cpu", "gpu0", "model=", "cc=",    "cc>=", "label:",     "=",
      ",",    " ",   "9.0",  "H200",   "rack=a", ":",    "<",          "sm_90",
      "\xff", "",    "é",    "\n",     ".",      "-",    "99999999999"};
  std::mt19937 random(7);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t n = random() % 8; n > 0; --n) {
      if (random() % 8 == 0) {
        text += static_cast<char>(random() % 256);
      } else {
        text += pieces[random() % std::size(pieces)];
      }
    }
    Selector selector;
    std::string error;
    const bool good = ParseSelector(text, &selector, &error);
    EXPECT_NE(good, !error.empty()) << text;
    for (const WorkerEntry& device : {kH200, kL4, Cpu()}) {
      EXPECT_EQ(Selects(text, device), good && Selects(selector, device)) << text;
    }
    read += good ? 1 : 0;
  }
  EXPECT_GT(read, 1000) << "a good part of them can be read";
}

}  // namespace
}  // namespace kbench::scheduler
