// The part of pthread.h that the portable C code of the shield needs. The comment in string.h in this directory gives
// the reason.
typedef struct cs_opaque_thread *pthread_t;

int pthread_create(pthread_t *thread, const void *attributes, void *(*routine)(void *), void *argument);
int pthread_join(pthread_t thread, void **ret_result);
