// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

const (
	// maxConfigFiles and maxConfigFile limit what is read of one directory; package module limits the
	// rest, and takes a file of one byte more as too large.
	maxConfigFiles = 5000
	maxConfigFile  = 2 << 20
)

// Installed reads what init has put in place. What cannot be read is in its list of unread modules.
func (s *Step) Installed() (*run.Installed, error) {
	w := s.site.Space
	source, err := os.OpenRoot(filepath.Join(w.Base, workspace.SourceDir))
	if err != nil {
		return nil, fault.New(fault.DiskClass(err), "read the installed configuration: %w", err)
	}
	defer source.Close() //nolint:errcheck // it was only read
	places := map[string]string{}
	var list modules.List
	if text, err := w.Read(w.InModule(workspace.ManifestTF), modules.MaxListBytes); err == nil && json.Unmarshal(text, &list) == nil {
		for _, m := range list.Modules {
			places[m.Key] = path.Join(s.rootModule(), m.Dir)
		}
	}
	files := func(dir string) (map[string][]byte, string) { return configIn(source.FS(), dir) }
	installed := &run.Installed{Tree: module.ReadTree(files, s.rootModule(), places), Uses: s.run.Result.Uses}
	installed.LockFile, err = w.Read(w.InModule(workspace.LockFileTF), workspace.MaxLockFile)
	if err != nil && !os.IsNotExist(err) {
		return nil, fault.New(fault.DiskClass(err), "read the dependency lock file: %w", err)
	}
	return installed, nil
}

// configIn reads the configuration files of a directory. The file system leads nowhere else.
func configIn(fsys fs.FS, dir string) (files map[string][]byte, why string) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Sprintf("the directory %s cannot be read: %s", dir, err)
	}
	files = map[string][]byte{}
	for _, entry := range entries {
		if entry.IsDir() || !module.IsConfigFile(entry.Name()) {
			continue
		}
		if len(files) == maxConfigFiles {
			return files, fmt.Sprintf("the directory %s has more than %d files", dir, maxConfigFiles)
		}
		content, err := readConfig(fsys, path.Join(dir, entry.Name()))
		if err != nil {
			why = fmt.Sprintf("the file %s cannot be read: %s", path.Join(dir, entry.Name()), err)
			continue
		}
		files[entry.Name()] = content
	}
	return files, why
}

func readConfig(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return io.ReadAll(io.LimitReader(f, maxConfigFile+1))
}
