// LD_PRELOAD for xrootd, which has no option for the address to listen on: binding to every address binds to loopback.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

int bind(int socket, const struct sockaddr* address, socklen_t length) {
  int (*next)(int, const struct sockaddr*, socklen_t);
  *(void**)&next = dlsym(RTLD_NEXT, "bind");
  if (address->sa_family != AF_INET || length < sizeof(struct sockaddr_in)) return next(socket, address, length);
  struct sockaddr_in local = *(const struct sockaddr_in*)address;
  if (local.sin_addr.s_addr == htonl(INADDR_ANY)) local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return next(socket, (const struct sockaddr*)&local, sizeof local);
}
