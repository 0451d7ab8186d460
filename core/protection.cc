#include "core/protection.h"

namespace fence {

namespace reasons {
const Reason not_asserted = {Code::not_asserted,
                             "the transaction has not asserted the key of this row of %f",
                             "call fence_assert(namespace, key, epoch, writer) in the same "
                             "transaction, before the statement "
                             "that writes; a row that moves to another key needs both keys"};
const Reason not_replicated = {
    Code::not_asserted,
    "the transaction has not asserted the key of this row of %f, which arrived "
    "by logical replication",
    "if its writers are checked where it comes from, call fence_protect for the table with "
    "subscriber => 'apply'"};
const Reason no_truncate = {Code::not_asserted,
                            "%f is protected, and TRUNCATE does not say whose rows it removes",
                            "DELETE the rows whose keys the transaction has asserted"};
const Reason bad_row_key = {
    Code::out_of_range, "the key of the row %f",
    "a row of a protected table needs a key of 1 to 255 bytes, which somebody can own"};
const Reason assert_outside = {
    Code::configuration, "an assertion holds for one transaction, and none is open",
    "BEGIN first, also where a function asserts and writes: then assert, write, COMMIT"};
const Reason bad_keys = {
    Code::out_of_range, "element %n of the keys is not a key",
    "pass a JSON array of texts of 1 to 255 bytes; a number is written as a text there"};
const Reason bad_relation = {Code::out_of_range, "the table is NULL", "pass the name of a table"};
const Reason bad_key_columns = {Code::out_of_range,
                                "key_columns is not a JSON array of different column names",
                                "pass for example [\"id\"], or [] with a constant key"};
const Reason bad_constant_key = {Code::out_of_range, "the constant key %f",
                                 "a key is text of 1 to 255 bytes of UTF-8 without NUL"};
const Reason no_key = {
    Code::out_of_range, "neither key columns nor a constant key is given",
    "name the columns that hold each row's key, or one key that the whole table belongs to"};
const Reason two_keys = {Code::out_of_range, "both key columns and a constant key are given",
                         "leave one of them out: each row has its own key, or all have one"};
const Reason bad_authority = {Code::out_of_range, "there is no such authority",
                              "tables are protected by epoch, shard, delegation or any"};
const Reason authority_missing = {Code::configuration, "this version protects tables by epoch only",
                                  "leave the argument out, or pass epoch"};
const Reason bad_subscriber = {Code::out_of_range, "there is no such policy for subscribers",
                               "pass refuse or apply"};
const Reason cannot_protect = {
    Code::configuration, "cannot protect this table: %f",
    "change that, or protect another table; the reference lists what can be protected"};
const Reason not_protected = {Code::configuration, "%f is not protected",
                              "fence_protected lists the tables that are"};
const Reason not_registered = {
    Code::configuration, "%f has a trigger of Fence's and is not protected",
    "protect it by fence_protect, or drop its triggers fence_rows and fence_truncate"};
const Reason lost_key = {Code::configuration, "%f, so nobody can tell whose its rows are",
                         "fence_doctor shows what to do; fence_protect can name the columns anew"};
}  // namespace reasons

namespace {

constexpr const char* authority_names[] = {"epoch", "shard", "delegation", "any"};
constexpr const char* subscriber_names[] = {"refuse", "apply"};

}  // namespace

const char* authority_name(Authority authority) noexcept {
  return authority_names[static_cast<size_t>(authority)];
}

const char* subscriber_name(Subscriber subscriber) noexcept {
  return subscriber_names[static_cast<size_t>(subscriber)];
}

bool parse_authority(std::string_view name, Authority* authority) noexcept {
  for (const Authority one :
       {Authority::epoch, Authority::shard, Authority::delegation, Authority::any}) {
    if (name == authority_name(one)) {
      *authority = one;
      return true;
    }
  }
  return false;
}

bool parse_subscriber(std::string_view name, Subscriber* subscriber) noexcept {
  for (const Subscriber one : {Subscriber::refuse, Subscriber::apply}) {
    if (name == subscriber_name(one)) {
      *subscriber = one;
      return true;
    }
  }
  return false;
}

const Reason* judge_authority(Authority authority) noexcept {
  return authority == Authority::epoch ? nullptr : &reasons::authority_missing;
}

const Reason* judge_key_choice(bool constant_given, int columns) noexcept {
  if (constant_given && columns > 0) {
    return &reasons::two_keys;
  }
  return constant_given || columns > 0 ? nullptr : &reasons::no_key;
}

}  // namespace fence
