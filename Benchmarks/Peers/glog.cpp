// A preloaded library that installs glog's handler before main, as a program that links glog would do.
#include <glog/logging.h>

__attribute__((constructor)) static void install() {
  google::InitGoogleLogging("crash-maker");
  google::InstallFailureSignalHandler();
}
