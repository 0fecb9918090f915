// SPDX-License-Identifier: GPL-2.0
// What rdma-unit-test is to expect of softmr. It aborts at a device that it does not know. To be included in front of its
// unit/gunit_main.cc (rdma_unit_test.sh says how).
#include <string>

#include "internal/introspection_registrar.h"
#include "public/introspection.h"

namespace rdma_unit_test {

class IntrospectionSoftmr : public NicIntrospection {
 public:
  IntrospectionSoftmr(const std::string& name, const ibv_device_attr& attr) : NicIntrospection(name, attr) {}

  bool SupportsReRegMr() const override { return true; }
  // fewer rounds: 1000 messages where a NIC has two million, one after the other
  bool IsSlowNic() const override { return true; }
  // the requester is told, as by irdma: conformance.rst, "Where softmr is different"
  bool NoNakOnSendInvalidateErrors() const override { return false; }
};

static const bool softmr_registered = [] {
  IntrospectionRegistrar::GetInstance().Register(
      "softmr", [](const std::string& name, const ibv_device_attr& attr) { return new IntrospectionSoftmr(name, attr); });
  return true;
}();

}  // namespace rdma_unit_test
