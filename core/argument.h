// What is wrong with an argument of a call: the reasons of ZF010.
#ifndef FENCE_CORE_ARGUMENT_H
#define FENCE_CORE_ARGUMENT_H

#include "core/refusal.h"

namespace fence {
namespace reasons {

extern const Reason bad_namespace;  // %f: what is wrong with it, see describe(NameFault)
extern const Reason bad_key;        // likewise
extern const Reason bad_epoch;
extern const Reason bad_writer;
extern const Reason no_claimant;  // neither epoch nor writer, where both are needed
extern const Reason bad_idx;
extern const Reason bad_payload;
extern const Reason bad_expected_last;
extern const Reason bad_range;       // from_idx, to_idx or max of a read
extern const Reason bad_claims;      // %n: which element, from 1
extern const Reason repeated_claim;  // %n: which element, from 1
extern const Reason idxs_no_array;
extern const Reason bad_idxs;      // %n: which element, from 1
extern const Reason bad_array;     // of more than one dimension, or none at all
extern const Reason bad_payloads;  // %n: which element, from 1
extern const Reason bad_timeout;
extern const Reason bad_frames;    // %n: which element, from 1
extern const Reason repeated_idx;  // %n: the idx
extern const Reason different_lengths;
extern const Reason setting_unknown;
extern const Reason setting_out_of_range;
extern const Reason bad_through;
extern const Reason bad_value_name;  // %f: what is wrong with it
extern const Reason bad_value;
extern const Reason bad_staged_namespace;  // %f
extern const Reason bad_staged_key;        // %f
extern const Reason bad_published_last;
extern const Reason same_key;
extern const Reason bad_prefix;  // %f
extern const Reason bad_after;   // %f
extern const Reason bad_mode;
extern const Reason bad_identical_repeat;
extern const Reason bad_age;
extern const Reason bad_key_column;     // %n: which one, from 1; %f: what is wrong with it
extern const Reason bad_composite_key;  // %f
extern const Reason no_key_column;
extern const Reason bad_key_array;

// For bad_key_column, where its type is the fault.
extern const char* const not_a_key_column;

}  // namespace reasons
}  // namespace fence

#endif
