// SPDX-License-Identifier: Apache-2.0
#include "mapcore/comm/matrix_io.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("mat: rows are senders, the diagonal is dropped") {
  const auto matrix = parse_matrix("# two ranks\n7 2.5\n\n1e3 9\n", "m");
  REQUIRE(matrix.ok());
  CHECK(matrix->ranks == 2);
  REQUIRE(matrix->entries.size() == 2);
  CHECK(matrix->entries[0].bytes == 2.5);
  CHECK(matrix->entries[1].bytes == 1000);
  CHECK(parse_matrix(to_mat(*matrix), "m")->entries.size() == 2);
}

TEST_CASE("csv adds up repeated pairs") {
  const auto matrix = parse_matrix("src,dst,bytes,messages\n0,1,5,1\n0,1,6,2\n2,0,1,1\n", "m");
  REQUIRE(matrix.ok());
  CHECK(matrix->ranks == 3);
  CHECK(matrix->entries[0].bytes == 11);
  CHECK(matrix->entries[0].messages == 3);
}

TEST_CASE("cells that are in order are not moved") {
  std::vector<MatrixEntry> cells{
      {0, 0, 9, 9}, {0, 1, 5, 1}, {0, 1, 6, 2}, {1, 0, 0, 0}, {2, 0, 1, 1}};
  const MatrixEntry* const place = cells.data();
  const CommMatrix matrix = CommMatrix::from_entries(3, std::move(cells));
  CHECK(matrix.entries.data() == place);  // a copy of 4096 * 4096 of them is 400 MB
  REQUIRE(matrix.entries.size() == 2);
  CHECK(matrix.entries[0].bytes == 11);
  CHECK(matrix.entries[0].messages == 3);
  CHECK(matrix.entries[1].src == 2);
}

TEST_CASE("a byte order mark is not part of the header") {
  const auto marked = parse_matrix("\xEF\xBB\xBFsrc,dst,bytes\n0,1,5\n", "m.csv");
  REQUIRE(marked.ok());
  CHECK(marked->entries.size() == 1);
  CHECK(parse_intervals("\xEF\xBB\xBFinterval,src,dst,bytes\n0,0,1,5\n", "i.csv").ok());
  CHECK(parse_matrix("\xEF\xBB\xBF"
                     "0 1\n1 0\n",
                     "m.mat")
            .ok());
}

TEST_CASE("fields of CSV may stand in quotes, as R writes them") {
  const auto matrix = parse_matrix("\"src\",\"dst\",\"bytes\"\r\n\"0\",\"1\",1e3\r\n", "f");
  REQUIRE(matrix.ok());
  CHECK(matrix->total_bytes() == 1000);
  CHECK(!parse_matrix("src,dst,bytes\n0,1,\"1,000\"\n", "f").ok());
}

TEST_CASE("the error for an unknown format names the formats that can be read") {
  for (const char* text : {"src;dst;bytes\n0;1;5\n", "src\tdst\tbytes\n0\t1\t5\n", "0,1\n1,0\n",
                           "%%MatrixMarket matrix coordinate real general\n", "[[0,1],[1,0]]\n",
                           ",src,dst,bytes\n0,0,1,5\n"}) {
    CAPTURE(text);
    const auto matrix = parse_matrix(text, "f");
    REQUIRE(!matrix.ok());
    CHECK(matrix.error().message().find("n lines of n numbers with blanks between, or CSV with the "
                                        "header src,dst,bytes") != std::string::npos);
  }
}

TEST_CASE("intervals, empty ones included") {
  const auto series = parse_intervals("interval,src,dst,bytes\n0,0,1,5\n2,1,2,7\n", "m");
  REQUIRE(series.ok());
  REQUIRE(series->size() == 3);
  CHECK((*series)[1].entries.empty());
  CHECK((*series)[0].ranks == 3);
  CHECK(parse_matrix("interval,src,dst,bytes\n0,0,1,5\n2,0,1,7\n", "m")->entries[0].bytes == 12);
}

TEST_CASE("bad matrices name file and line") {
  struct Bad {
    const char* text;
    const char* line;
  };
  for (const Bad& bad :
       {Bad{"0 1\n1 0 3\n", "line 2"}, Bad{"0 1\n-1 0\n", "line 2"}, Bad{"0 nan\n1 0\n", "line 1"},
        Bad{"0 x\n1 0\n", "line 1"}, Bad{"0 1\n1 0\n1 1\n", "line 3"}, Bad{"0 1\n", "line 1"},
        Bad{"0 1e400\n1 0\n", "line 1"}, Bad{"src,dst\n", "line 1"},
        Bad{"src,dst,bytes\n0,1\n", "line 2"}, Bad{"src,dst,bytes\n0,9999,1\n", "line 2"},
        Bad{"", "f"}, Bad{"src,dst,bytes\n", "f"}}) {
    INFO(bad.text);
    const auto matrix = parse_matrix(bad.text, "f");
    REQUIRE(!matrix.ok());
    CHECK(matrix.error().message().find(bad.line) != std::string::npos);
    CHECK(matrix.error().message().find('f') == 0);
  }
}
