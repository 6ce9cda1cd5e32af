// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// PrintOutputs writes NAME = VALUE, sorted, as tofu does.
func PrintOutputs(w io.Writer, outputs map[string]content.Output, reveal bool) error {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		value := ui.HiddenValue
		if o := outputs[name]; !o.Sensitive || reveal {
			indented, err := ui.PlainJSON(o.Value)
			if err != nil {
				return fmt.Errorf("read output %q: %w", name, err)
			}
			value = diagnostic.Printable(strings.TrimSuffix(string(indented), "\n"))
		}
		if _, err := fmt.Fprintf(w, "%s = %s\n", diagnostic.Printable(name), value); err != nil {
			return err
		}
	}
	return nil
}
