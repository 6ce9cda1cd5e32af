// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package names reads objects whose names users wrote.
//
// A reference in a spec is any text. client-go refuses a name that does not fit into a URL, with an
// untyped error, which a controller treats like an unavailable API: it retries forever and reports
// nothing. An object with such a name cannot exist, so a [Client] returns NotFound.
package names
