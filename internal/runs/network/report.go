// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package network

import "strings"

// notice begins each line of a relay's report, so that other output is not taken for one.
const notice = "the network of "

// IsNotice reports whether a line is from a relay's report.
func IsNotice(line string) bool { return strings.HasPrefix(line, notice) }
