// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package badinput

import (
	"fmt"
	"strings"
)

// generators return programs that are too large or too deep for a file in corpus/.
var generators = map[string]func() map[string]string{
	"deep-brackets": func() map[string]string {
		const deep = 3000
		return one("output \"a\" { value = " + strings.Repeat("[", deep) + strings.Repeat("]", deep) + " }\n")
	},
	"deep-blocks": func() map[string]string {
		const deep = 3000
		return one(strings.Repeat("a {\n", deep) + strings.Repeat("}\n", deep))
	},
	"long-line": func() map[string]string {
		return one("output \"a\" { value = length(\"" + strings.Repeat("x", 600_000) + "\") }\n")
	},
	"long-name": func() map[string]string {
		return one("output \"" + strings.Repeat("x", 10_000) + "\" { value = 1 }\n")
	},
	"huge-file": func() map[string]string {
		return one(strings.Repeat("# one of many lines\n", 40_000) + "output \"a\" { value = 1 }\n")
	},
	"hundred-files": func() map[string]string {
		files := map[string]string{}
		for i := range 100 {
			files[fmt.Sprintf("f%d.tf", i)] = fmt.Sprintf("output \"o%d\" { value = %d }\n", i, i)
		}
		return files
	},
	"too-large": func() map[string]string { return one(strings.Repeat("# one of many lines\n", 200_000)) },
}

func one(hcl string) map[string]string { return map[string]string{"main.tf": hcl} }
