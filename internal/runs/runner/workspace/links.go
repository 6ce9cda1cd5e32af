// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// ProviderLinks counts the provider links in the stacks' working directories, by target.
func ProviderLinks(workRoot string) map[string]int {
	links := map[string]int{}
	bases, _ := filetree.Glob(workRoot, "*/*/"+RecordName) // the pattern is valid
	for _, record := range bases {
		countProviderLinks(links, filepath.Dir(record))
	}
	return links
}

// ProviderLinksOf is ProviderLinks for some stacks.
func ProviderLinksOf(workRoot string, stacks []run.Stack) map[string]int {
	links := map[string]int{}
	for _, s := range stacks {
		countProviderLinks(links, filepath.Join(workRoot, s.Namespace, s.Name))
	}
	return links
}

func countProviderLinks(links map[string]int, base string) {
	text, err := os.ReadFile(filepath.Join(base, RecordName))
	var known Record
	if err != nil || json.Unmarshal(text, &known) != nil || known.Module == "" {
		return
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return
	}
	defer root.Close() //nolint:errcheck // it was only read
	for _, target := range LinksBelow(root, known.Module) {
		links[target]++
	}
}

// maxLinks limits the entries of one working directory, which the tool can write to.
const maxLinks = 10_000

// LinksBelow returns the targets of a working directory's provider links.
func LinksBelow(root *os.Root, module string) []string {
	var targets []string
	entries := 0
	top := strings.TrimSuffix(module+"/"+ProvidersTF, "/")
	_ = fs.WalkDir(root.FS(), top, func(name string, entry fs.DirEntry, err error) error { // unreadable directories have no links
		if entries++; err != nil || entries > maxLinks {
			return errors.Join(err, fs.SkipAll)
		}
		depth := strings.Count(strings.TrimPrefix(name, top), "/")
		if entry.Type()&fs.ModeSymlink != 0 && depth == 5 {
			if target, err := root.Readlink(name); err == nil {
				targets = append(targets, target)
			}
		}
		if entry.IsDir() && depth >= 5 {
			return fs.SkipDir
		}
		return nil
	})
	return targets
}
