// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed files
var files embed.FS

// writeFiles writes the configuration of the node's parts into its directory.
func writeFiles(dir string) error {
	all, err := template.ParseFS(files, "files/*")
	if err != nil {
		return err
	}
	facts := map[string]string{
		"Dir": dir, "Socket": socket(dir), "Address": address, "Domain": domain, "Pods": nodePods, "Bridge": bridge, "Pause": pauseImage,
	}
	for _, t := range all.Templates() {
		path := filepath.Join(dir, t.Name())
		if t.Name() == "cni.conflist" {
			path = filepath.Join(dir, "cni", t.Name())
		}
		if err := writeFile(path, t, facts); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}

func writeFile(path string, t *template.Template, facts map[string]string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	return t.Execute(f, facts)
}
