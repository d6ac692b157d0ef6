// The system calls that a confined process may make.
#pragma once

/// Installs the filter for all threads of this process. 0, or an errno.
int cs_confine_filter_install(void);
