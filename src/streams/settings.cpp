#include "streams/settings.hpp"

#include "server/prelude.hpp"

namespace idem::streams {

namespace {
constexpr int kDefaultProducerRetain = 7 * 24 * 60 * 60;
}

Settings settings = {kDefaultProducerRetain};

void define_settings() {
  DefineCustomIntVariable("idem.producer_retain",
                          "How long a producer is known after its last use when its stream does "
                          "not say.",
                          nullptr, &settings.producer_retain, kDefaultProducerRetain, 1, INT_MAX,
                          PGC_USERSET, GUC_UNIT_S, nullptr, nullptr, nullptr);
}

}  // namespace idem::streams
