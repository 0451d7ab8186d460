// The set that a function answers with, filled before it returns.
#ifndef FENCE_PG_EXT_ROWS_H
#define FENCE_PG_EXT_ROWS_H

#include "pg_ext/server.h"

extern "C" {
#include "funcapi.h"
#include "nodes/execnodes.h"
}

namespace fence {

class Rows {
 public:
  // A function of one column returns values and not rows: then the caller says what it is.
  enum class Of : unsigned char { rows, values };

  explicit Rows(FunctionCallInfo call, Of of = Of::rows) {
    InitMaterializedSRF(call, of == Of::values ? MAT_SRF_USE_EXPECTED_DESC : 0);
    result_ = reinterpret_cast<ReturnSetInfo*>(call->resultinfo);
  }
  void add(Datum* values, bool* nulls) {
    tuplestore_putvalues(result_->setResult, result_->setDesc, values, nulls);
  }

 private:
  ReturnSetInfo* result_;
};

}  // namespace fence

#endif
