// Crashes in C++ code, one function each. cs_faults.h explains the conventions.
#ifndef CS_CXX_FAULTS_H
#define CS_CXX_FAULTS_H

#ifdef __cplusplus
extern "C" {
#endif

void cs_fault_cxx_terminate(void);
void cs_fault_cxx_throw_derived(void);
void cs_fault_cxx_throw_int(void);
void cs_fault_noexcept_throw(void);
void cs_fault_pure_virtual(void);
void cs_fault_static_destructor(void);
void cs_fault_sent_abort_in_new(void);

#ifdef __cplusplus
}
#endif

#endif
