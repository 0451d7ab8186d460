#include "core/argument.h"

namespace fence {
namespace reasons {

const Reason bad_namespace = {Code::out_of_range, "the namespace %f",
                              "a namespace is text of 1 to 255 bytes of UTF-8 without NUL"};
const Reason bad_key = {Code::out_of_range, "the key %f",
                        "a key is text of 1 to 255 bytes of UTF-8 without NUL"};
const Reason bad_epoch = {Code::out_of_range, "the epoch is not a number in range",
                          "an epoch is a whole number from 0 to 9223372036854775807, as an integer "
                          "or as plain decimal text"};
const Reason bad_writer = {Code::out_of_range, "the writer is not a UUID",
                           "make one random UUID for each process incarnation and pass it as text"};
const Reason no_claimant = {
    Code::out_of_range, "no epoch is stated, and what stands for the writer is not a UUID",
    "pass the epoch and the writer of your claim; writes without them need a namespace in mode "
    "unfenced or optional"};
const Reason bad_idx = {Code::out_of_range, "the idx is not a number in range",
                        "an idx is a whole number from 0 to 9223372036854775807, as an integer or "
                        "as plain decimal text"};
const Reason bad_payload = {Code::out_of_range, "the payload is not a sequence of bytes",
                            "pass bytes or text; an empty payload is fine, NULL is not"};
const Reason bad_expected_last = {
    Code::out_of_range, "expected_last is not a number in range",
    "pass the idx that must be the last one, -1 for an empty log, or NULL not to compare"};
const Reason bad_range = {Code::out_of_range, "a bound of the read is not a number in range",
                          "from_idx, to_idx and max are whole numbers from 0 to "
                          "9223372036854775807; NULL takes the default"};
const Reason bad_claims = {Code::out_of_range, "element %n of the claims is not usable",
                           "pass a JSON array of objects with the members key and epoch"};
const Reason repeated_claim = {Code::out_of_range, "element %n of the claims repeats a key",
                               "claim each key once in a call"};
const Reason idxs_no_array = {
    Code::out_of_range, "idxs is not a JSON array of idx",
    "pass one array of whole numbers from 0 to 9223372036854775807, as JSON text"};
const Reason bad_idxs = {Code::out_of_range, "element %n of idxs is not an idx",
                         "pass one array of whole numbers from 0 to 9223372036854775807"};
const Reason bad_array = {Code::out_of_range, "idxs or payloads is not an array of one dimension",
                          "pass one array of idx and one of payloads, of the same length"};
const Reason bad_payloads = {Code::out_of_range, "element %n of payloads is NULL",
                             "pass bytes; an empty payload is fine, NULL is not"};
const Reason bad_timeout = {Code::out_of_range, "timeout_ms is not a number in range",
                            "pass how many milliseconds to wait at most; 0 does not wait"};
const Reason bad_frames = {Code::out_of_range, "payload %n is not complete",
                           "each payload is preceded by its length as 4 bytes, big-endian; "
                           "fence_blobs builds that"};
const Reason repeated_idx = {Code::out_of_range, "idx %n stands twice in the batch",
                             "pass each idx once in a call"};
const Reason different_lengths = {Code::out_of_range, "idxs and payloads differ in number",
                                  "pass one payload for each idx"};
const Reason setting_unknown = {Code::out_of_range, "there is no such setting",
                                "the settings are listed in the reference, under Settings"};
const Reason setting_out_of_range = {Code::out_of_range, "the value is out of the setting's range",
                                     "the ranges are listed in the reference, under Settings"};
const Reason bad_through = {Code::out_of_range, "through_idx is not a number in range",
                            "pass the greatest idx that may go, 0 to 9223372036854775807"};
const Reason bad_value_name = {Code::out_of_range, "the name %f",
                               "a name is text of 1 to 255 bytes of UTF-8 without NUL"};
const Reason bad_value = {Code::out_of_range, "the value is not a sequence of bytes",
                          "pass bytes or text; an empty value is fine, for none at all there is "
                          "fenced_remove"};
const Reason bad_staged_namespace = {Code::out_of_range, "the staged namespace %f",
                                     "a namespace is text of 1 to 255 bytes of UTF-8 without NUL"};
const Reason bad_staged_key = {Code::out_of_range, "the staged key %f",
                               "a key is text of 1 to 255 bytes of UTF-8 without NUL"};
const Reason bad_published_last = {Code::out_of_range, "expected_last is not a number in range",
                                   "pass the last idx of the staged log, which begins with 1"};
const Reason same_key = {Code::out_of_range, "the staged key is the key itself",
                         "stage the log under another key, then publish it"};
const Reason bad_prefix = {Code::out_of_range, "the prefix %f",
                           "a prefix is text of at most 255 bytes of UTF-8 without NUL"};
const Reason bad_after = {Code::out_of_range, "the text after which to go on %f",
                          "pass the last key that was returned, or NULL to begin"};
const Reason bad_mode = {Code::out_of_range, "there is no such mode",
                         "the modes are required, unfenced and optional"};
const Reason bad_identical_repeat = {Code::out_of_range,
                                     "identical_repeat is neither true nor false",
                                     "pass true or false; SQLite takes 1 or 0"};
const Reason bad_age = {Code::out_of_range, "older_than_ms is not a number in range",
                        "pass for how many milliseconds the keys have been deleted; 0 takes all"};
const Reason bad_key_column = {
    Code::out_of_range, "column %n of the key %f",
    "a column of a key is a whole number or text of UTF-8 without NUL, on PostgreSQL also uuid or "
    "boolean, and never NULL"};
const Reason bad_composite_key = {
    Code::out_of_range, "the key of these columns %f",
    "a key is text of 1 to 255 bytes; the slashes between columns and the backslashes before those "
    "inside them count"};
const Reason no_key_column = {Code::out_of_range, "the key has no column",
                              "pass the columns of the key, one or more, in their order"};
const Reason bad_key_array = {Code::out_of_range,
                              "the array of columns is NULL or of more than one dimension",
                              "pass an array of one dimension, or the columns one by one"};

const char* const not_a_key_column = "is not of a type that a key column may have";

}  // namespace reasons
}  // namespace fence
