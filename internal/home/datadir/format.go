// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Format is the layout that this Yuba writes. It increases when an older Yuba can no longer read
// the directory.
const Format = 1

// NewerFormatError means that a newer Yuba wrote the data.
type NewerFormatError struct {
	// What names the data: "the data directory /x" or "the backup".
	What string
	// Found is the format of the data.
	Found int
}

func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("open %s: it has format %d, this Yuba supports formats up to %d. A newer Yuba wrote it. "+
		"Use that version, or restore a backup made by this one into another data directory", e.What, e.Found, Format)
}

// checkFormat refuses a newer format and records the current one in a new directory.
func (d Dir) checkFormat() error {
	path := d.path("version")
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if err := d.checkEmpty(); err != nil {
			return err
		}
		return WriteFile(path, []byte(strconv.Itoa(Format)+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("read the data directory's format: %w", err)
	}
	found, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return &RefusedError{Dir: d, Problem: fmt.Sprintf("its format is unknown: %s contains %.20q instead of a number", path, data), Ways: d.repairFormat()}
	}
	if found > Format {
		return &NewerFormatError{What: "the data directory " + string(d), Found: found}
	}
	return nil
}

// repairFormat explains how to write the format file again.
func (d Dir) repairFormat() []Way {
	return []Way{{fmt.Sprintf("If this version of Yuba used it last, write the format again (it is %d)", Format),
		[]string{fmt.Sprintf("echo %d >%s", Format, Quoted(d.path("version")))}}}
}

// checkEmpty refuses a directory that has another purpose. It ignores what file systems create, and
// the remains of a first start that was killed.
func (d Dir) checkEmpty() error {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return fmt.Errorf("read the data directory: %w", err)
	}
	if _, err := os.Stat(d.Keys()); err == nil {
		if _, err := os.Stat(d.Etcd()); err == nil {
			return &RefusedError{Dir: d, Problem: "the file version, which holds its format, is missing", Ways: d.repairFormat()}
		}
	}
	for _, entry := range entries {
		if name := entry.Name(); name != "lost+found" && !strings.HasPrefix(name, ".version-") {
			return fmt.Errorf("use %s as data directory: it is not empty (it contains %q) and was not created by Yuba. "+
				"Choose an empty or new directory with --data-dir", d, name)
		}
	}
	return nil
}
