// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package names reads objects whose names people wrote.
//
// A reference in a spec is any text. client-go refuses to ask for a name that does not fit into a URL, with an error of no
// type, which a controller takes for an API that does not answer: it tries again forever and says nothing. An object of
// such a name cannot exist, so a [Client] answers what is true: it was not found.
package names
