#include "pg_ext/own_transaction.h"

#include "core/layer.h"
#include "pg_ext/bare_call.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "tcop/utility.h"
}

namespace fence {

void check_alone(const RecordName& name) {
  if (layer(Layer::claim_alone) &&
      (!in_autocommit() || in_pipeline() || has_assertions() || has_claimed())) {
    raise_error(about(name, reasons::claim_in_transaction));
  }
}

void begin_own_transaction() {
  note_claim();
  commit_at_once();
}

void check_may_administer() {
  PreventCommandIfReadOnly("this call");
  PreventCommandIfParallelMode("this call");
}

}  // namespace fence
