// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"errors"
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// writeJSON writes a report. Other programs of the job read it.
func writeJSON(name string, value any) error {
	data, err := ui.PlainJSON(value)
	if err == nil {
		err = os.WriteFile(name, data, 0o644) //nolint:gosec // it has no secrets, and others read it
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// appendTo adds a text to a file, which other steps of the job write, too.
func appendTo(name, text string) (err error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // as above
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
