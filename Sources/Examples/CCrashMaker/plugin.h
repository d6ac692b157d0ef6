// A shared library that is made at run time: its constructor calls a function of ours.
#ifndef CS_PLUGIN_H
#define CS_PLUGIN_H

// Loads it, which runs `constructor`; NULL when that fails. The handle is dlopen's.
void *cs_plugin_load(void (*constructor)(void));

// Where its code is, as long as it is loaded.
void *cs_plugin_code(void *handle);

#endif
