// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
)

// The places of content in a bundle.
const (
	ToolDir       = "tools/tofu"
	ProvidersFile = "providers.tar"
	ModuleDir     = "modules"
	ChartDir      = "charts"
	FileDir       = "files"
	ImageDir      = "images"
	ManifestDir   = "manifests"
)

// lockFile is what a root module has of its providers.
const lockFile = ".terraform.lock.hcl"

// Content is what a bundle has.
type Content struct {
	// Tools are versions of OpenTofu, and ToolSource is where they come from.
	Tools      []string
	ToolSource opentofu.Source
	// Platforms are those of tools, providers and images.
	Platforms []layout.Platform
	// LockFiles name providers. Those in modules count as well. Allow are patterns of providers, see [mirror.Options].
	LockFiles, Allow []string
	// Needs are providers, HOST/NAMESPACE/NAME, that no lock file has to name, with the constraints on their versions.
	Needs map[string][]string
	// Modules are directories, Charts files, and Manifests files.
	Modules, Charts, Manifests []string
	// Images are references of images and charts in OCI registries.
	Images []string
	// Files are fetched from their URLs, unless FilesFrom is a directory that has them, or FilesURL a mirror.
	Files               []Fetch
	FilesFrom, FilesURL string
}

// Collect brings content to a directory, from which [Pack] makes a bundle. What is there from an earlier attempt is not
// fetched again, and removed if it is of other content. [Remove] removes the directory. tell gets one line for each part.
func Collect(ctx context.Context, c Content, dir string, tell func(format string, args ...any)) error {
	var platforms []string
	for _, p := range c.Platforms {
		platforms = append(platforms, p.String())
	}
	tools := map[string]bool{}
	for _, version := range c.Tools {
		signer, err := c.ToolSource.Carry(ctx, version, platforms, filepath.Join(dir, filepath.FromSlash(ToolDir)), func(int64, int64) {})
		if err != nil {
			return fmt.Errorf("bundle OpenTofu %s: %w", version, err)
		}
		for _, name := range c.ToolSource.Carried(version, platforms) {
			tools[name] = true
		}
		tell("OpenTofu %s for %s, signed by %s", version, strings.Join(platforms, ", "), signer)
	}
	if err := keepOnly(filepath.Join(dir, filepath.FromSlash(ToolDir)), tools); err != nil {
		return fmt.Errorf("remove the versions of OpenTofu of an earlier attempt: %w", err)
	}
	// Copies are made again, so that those of an earlier attempt with other ones are not packed.
	for _, place := range []string{ModuleDir, ChartDir, ManifestDir} {
		if err := os.RemoveAll(filepath.Join(dir, place)); err != nil {
			return fmt.Errorf("remove the files of an earlier attempt: %w", err)
		}
	}
	locks := slices.Clone(c.LockFiles)
	for _, module := range c.Modules {
		found, err := copyTree(module, filepath.Join(dir, ModuleDir, filepath.Base(module)))
		if err != nil {
			return fmt.Errorf("bundle the modules in %s: %w", module, err)
		}
		tell("modules of %s", module)
		locks = append(locks, found...)
	}
	for place, files := range map[string][]string{ChartDir: c.Charts, ManifestDir: c.Manifests} {
		for _, file := range files {
			if err := copyFile(file, filepath.Join(dir, place, filepath.Base(file))); err != nil {
				return fmt.Errorf("bundle %s: %w", file, err)
			}
			tell("%s", file)
		}
	}
	if err := c.providers(ctx, locks, dir, tell); err != nil {
		return err
	}
	if err := c.files(ctx, dir, tell); err != nil {
		return err
	}
	return c.images(ctx, dir, tell)
}

// providers exports the providers of lock files.
func (c Content) providers(ctx context.Context, locks []string, dir string, tell func(format string, args ...any)) error {
	wants, err := c.wants(locks)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, ProvidersFile)
	if len(wants) == 0 {
		return removeIfThere(path)
	}
	sum, err := c.sumOfWants(wants)
	if err != nil {
		return err
	}
	known, _ := os.ReadFile(dir + wantsSuffix) //nolint:errcheck // without it, nobody knows what the providers are for
	if _, err := os.Lstat(path); err == nil && string(known) == sum {
		tell("providers of an earlier attempt")
		return nil
	}
	if err := removeIfThere(path); err != nil {
		return fmt.Errorf("remove the providers of an earlier attempt: %w", err)
	}
	work := dir + workSuffix
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(work, ProvidersFile))
	if err != nil {
		return err
	}
	err = mirror.Export(ctx, wants, c.Platforms, mirror.Options{Allow: c.Allow}, work, file, func(got mirror.Carried) {
		tell("%s %s for %s", got.Provider, got.Version, got.Platform)
	})
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("bundle the providers: %w", errors.Join(err, os.RemoveAll(work)))
	}
	// In this order, the checksum is never of other providers than those that are there.
	if err := os.WriteFile(dir+wantsSuffix, []byte(sum), 0o600); err != nil {
		return err
	}
	return errors.Join(os.Rename(file.Name(), path), os.RemoveAll(work))
}

// The names of what is beside the directory, and not packed, begin with its own: where providers are exported, and the checksum of
// what the exported ones are for.
const workSuffix, wantsSuffix = ".providers", ".wants"

// Remove removes a directory of [Collect], and what is beside it.
func Remove(dir string) error {
	return errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+workSuffix), removeIfThere(dir+wantsSuffix))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sumOfWants is the checksum of all that decides which providers are exported. Their order does not.
func (c Content) sumOfWants(wants []mirror.Want) (string, error) {
	type want struct {
		Provider, Version string
		Hashes            []string
	}
	var of struct {
		Wants            []want
		Needs            map[string][]string
		Platforms, Allow []string
	}
	for _, w := range wants {
		of.Wants = append(of.Wants, want{w.Provider.String(), w.Version, slices.Sorted(slices.Values(w.Hashes))})
	}
	of.Needs = map[string][]string{}
	for source, constraints := range c.Needs {
		of.Needs[source] = slices.Sorted(slices.Values(constraints))
	}
	slices.SortFunc(of.Wants, func(a, b want) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Version, b.Version))
	})
	for _, p := range c.Platforms {
		of.Platforms = append(of.Platforms, p.String())
	}
	slices.Sort(of.Platforms)
	of.Allow = slices.Sorted(slices.Values(c.Allow))
	text, err := json.Marshal(of)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// wants are the providers of lock files, and those that no lock file has.
func (c Content) wants(locks []string) (wants []mirror.Want, err error) {
	for _, path := range locks {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if wants, err = mirror.Wanted(wants, text); err != nil {
			return nil, fmt.Errorf("bundle the providers of %s: %w", path, err)
		}
	}
	return c.unlocked(wants)
}

// unlocked adds the needs that no locked version satisfies.
func (c Content) unlocked(wants []mirror.Want) ([]mirror.Want, error) {
	for _, source := range slices.Sorted(maps.Keys(c.Needs)) {
		p, err := layout.ParseProvider(source)
		if err != nil {
			return nil, err
		}
		allowed, err := inspect.ParseConstraints(strings.Join(c.Needs[source], ", "))
		if err != nil {
			return nil, fmt.Errorf("choose a version of %s: %w", p, err)
		}
		if !slices.ContainsFunc(wants, func(w mirror.Want) bool { return w.Provider == p && allowed.Allow(w.Version) }) {
			wants = append(wants, mirror.Want{ProviderVersion: layout.ProviderVersion{Provider: p}, Allowed: allowed.Allow})
		}
	}
	return wants, nil
}

// copyTree copies a directory, and returns its lock files. Working directories of tofu, states and hidden files are not
// modules, and may have secrets.
func copyTree(from, to string) (locks []string, err error) {
	if err := os.RemoveAll(to); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		base := entry.Name()
		hidden := strings.HasPrefix(base, ".") && base != lockFile
		switch {
		case hidden && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir(), hidden, strings.HasSuffix(base, ".tfstate"), strings.Contains(base, ".tfstate."), strings.HasSuffix(base, ".tfvars"), strings.HasSuffix(base, ".tfvars.json"):
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", name)
		}
		if base == lockFile {
			locks = append(locks, filepath.Join(from, name))
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // it was only read
		return write(file, filepath.Join(to, name))
	})
	return locks, err
}

func copyFile(from, to string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return write(file, to)
}

func write(from io.Reader, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
