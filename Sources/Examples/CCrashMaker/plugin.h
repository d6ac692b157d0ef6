// A shared library that is created at run time. The constructor of the library calls the given function.
#ifndef CS_PLUGIN_H
#define CS_PLUGIN_H

// Loads the library, which runs `constructor`. Returns the handle of dlopen, or NULL if loading failed.
void *cs_plugin_load(void (*constructor)(void));

// Returns the address of the library's code, which is valid while the library is loaded.
void *cs_plugin_code(void *handle);

#endif
