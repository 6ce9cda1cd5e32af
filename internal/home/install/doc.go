// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package install puts into a fresh or older API what Yuba needs there: its kinds and the rules by which people with
// view, edit or admin may use them. It applies them from the server side as field manager "yuba", so that what others
// added stays; an API that has everything already is left as it is.
package install
