// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/tools/release/build"
)

// file is a file of the release: its name in the archive, its mode, and its content or source.
type file struct {
	name    string
	mode    int64
	content []byte
	source  string
}

// shells are the supported shells, with the file names of their completion scripts.
var shells = map[string]string{"bash": "yuba.bash", "zsh": "_yuba", "fish": "yuba.fish"}

// tree lists the files of an archive, sorted by name.
func (r *release) tree(ctx context.Context, p build.Platform, dir string) ([]file, error) {
	var tree []file
	for _, name := range programs {
		tree = append(tree, file{name: "bin/" + name, mode: 0o755, source: filepath.Join(dir, name)})
	}
	for name, source := range map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "systemd/yuba.service": "examples/systemd/yuba.service",
	} {
		tree = append(tree, file{name: name, mode: 0o644, source: filepath.Join(r.root, source)})
	}
	yuba, err := r.startable(ctx, p, dir)
	if err != nil {
		return nil, err
	}
	for shell, name := range shells {
		script, err := start(ctx, yuba, "completion", shell)
		if err != nil {
			return nil, err
		}
		tree = append(tree, file{name: "completions/" + name, mode: 0o644, content: script})
	}
	slices.SortFunc(tree, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return tree, nil
}

// startable is a yuba of this version that runs on this machine, to generate the files that all
// platforms share: the released one or, for other platforms, that of bin/.
func (r *release) startable(ctx context.Context, p build.Platform, dir string) (string, error) {
	if p == build.ThisPlatform {
		return filepath.Join(dir, "yuba"), nil
	}
	yuba := filepath.Join(r.root, "bin", "yuba")
	const hint = "\nBuild it first:\n    make build"
	says, err := start(ctx, yuba, "version", "--client")
	if err != nil {
		return "", fmt.Errorf("write the completions for %s: %w%s", p, err, hint)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(says), "Client: "), "\n")
	if found, _, _ := strings.Cut(first, " "); found != r.version.Name {
		return "", fmt.Errorf("write the completions for %s: bin/yuba is version %q, and %q is released%s", p, found, r.version.Name, hint)
	}
	return yuba, nil
}

// start runs a program with an empty environment, and returns its output.
func start(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=/nonexistent"}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return out, nil
}

// open opens a file's content, and returns its size.
func (f file) open() (io.ReadCloser, int64, error) {
	if f.source == "" {
		return io.NopCloser(strings.NewReader(string(f.content))), int64(len(f.content)), nil
	}
	source, err := os.Open(f.source)
	if err != nil {
		return nil, 0, err
	}
	info, err := source.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, source.Close())
	}
	return source, info.Size(), nil
}

// writeArchive packs files below one directory, with fixed times, owners and order.
func writeArchive(path, top string, tree []file, date time.Time) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	zipped := gzip.NewWriter(out)
	packed := tar.NewWriter(zipped)
	for _, f := range tree {
		if err := pack(packed, top, f, date); err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	return errors.Join(packed.Close(), zipped.Close())
}

func pack(to *tar.Writer, top string, f file, date time.Time) error {
	content, size, err := f.open()
	if err != nil {
		return err
	}
	defer content.Close()
	header := &tar.Header{Name: top + "/" + f.name, Mode: f.mode, Size: size, ModTime: date, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, Uname: "root", Gname: "root"}
	if err := to.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(to, content)
	return err
}

// checksums lists the files with their checksums, like sha256sum.
func checksums(dir string, names []string) ([]byte, error) {
	var list []byte
	for _, name := range names {
		sum, err := build.FileSum(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		list = fmt.Appendf(list, "%x  %s\n", sum, name)
	}
	return list, nil
}
