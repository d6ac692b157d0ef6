// Preloaded: installs glog's handler before main, as a program would that links it.
#include <glog/logging.h>

__attribute__((constructor)) static void install() {
  google::InitGoogleLogging("crash-maker");
  google::InstallFailureSignalHandler();
}
