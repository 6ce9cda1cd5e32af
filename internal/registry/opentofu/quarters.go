// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import "fmt"

// Quarters reports the progress of a download at each quarter, such as "9 of 35 MB". It reports
// nothing if the size is unknown.
func Quarters(say func(string)) func(done, total int64) {
	told := int64(0)
	return func(done, total int64) {
		if total <= 0 {
			return
		}
		if quarter := done * 4 / total; quarter > told {
			told = quarter
			say(fmt.Sprintf("%.1f of %.1f MB", float64(done)/1e6, float64(total)/1e6))
		}
	}
}
