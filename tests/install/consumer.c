#include <adjit/adjit.h>
#include <stddef.h>

int main(void) { return adjit_last_error_message() == NULL; }
