// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadata reads boring-registry.hcl, the file in which a module's directory says its name and
// version, and finds such directories:
//
//	metadata {
//	  namespace = "acme"
//	  name      = "vpc"
//	  provider  = "aws"
//	  version   = "1.2.0"
//	}
//
// Invariants:
//
//   - Only literal values are read; nothing is evaluated.
//   - Searching does not follow links, and leaves out .git, .terraform and other hidden directories.
package metadata
