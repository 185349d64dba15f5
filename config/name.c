/* Upstream: configuration, requests, libcuzk; downstream: file names in the state folder. */
#include "config/name.h"

#include "config/limits.h"

bool name_is_valid(const char *name, size_t bytes)
{
    if (bytes == 0 || bytes > NAME_BYTES_MAX)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        char c = name[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '_' || c == '-'))
            return false;
    }
    return true;
}

bool client_key_is_valid(const char *key, size_t bytes)
{
    if (bytes == 0 || bytes > CLIENT_KEY_BYTES_MAX)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (key[i] <= 0x20 || key[i] >= 0x7f)
            return false;
    }
    return true;
}
