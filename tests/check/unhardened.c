// SPDX-License-Identifier: Apache-2.0
// Linked without the options that tests/check/hardening looks for.
int unhardened(void);
int unhardened(void) { return 0; }
