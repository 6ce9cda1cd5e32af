// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"
	repo "helm.sh/helm/v4/pkg/repo/v1"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// resolve finds a version of a chart in an index.
func resolve(call *wire.Call, index []byte, result *wire.Result) error {
	var file repo.IndexFile
	if err := yaml.Unmarshal(index, &file); err != nil {
		return failed(wire.FailedChart, "the index is not a YAML document of chart versions%s", position(err))
	}
	entries := file.Entries[call.Chart.Name]
	file.Entries = repo.NewIndexFile().Entries
	for _, v := range entries {
		if v == nil || v.Metadata == nil {
			continue
		}
		if _, err := semver.NewVersion(v.Version); err == nil {
			file.Entries[call.Chart.Name] = append(file.Entries[call.Chart.Name], v)
		}
	}
	file.SortEntries()
	found, err := file.Get(call.Chart.Name, call.Chart.Version)
	switch {
	case errors.Is(err, repo.ErrNoChartName):
		return failed(wire.NotFound, "no '%s' chart in the index", call.Chart.Name)
	case err != nil:
		return failed(wire.NotFound, "no '%s' chart with version matching '%s' found", call.Chart.Name, call.Chart.Version)
	case len(found.URLs) == 0:
		return failed(wire.FailedChart, "the index has no URL for the chart %s-%s", found.Name, found.Version)
	}
	result.Chart = wire.Chart{Name: found.Name, Version: found.Version, AppVersion: found.AppVersion, URLs: found.URLs, Digest: found.Digest}
	return nil
}

// load reads a chart within limits.
func load(packed []byte) (*chartv2.Chart, error) {
	c, err := loader.LoadArchive(bytes.NewReader(packed))
	if err != nil {
		// A pushed directory has no directory of the chart's name around it.
		if bare, later := loadBare(packed); later == nil && bare != nil {
			c, err = bare, nil
		}
	}
	if err != nil {
		return nil, failed(wire.FailedChart, "the archive is not a usable chart: %w", err)
	}
	if err := c.Validate(); err != nil {
		return nil, failed(wire.FailedChart, "the chart is invalid: %w", err)
	}
	var required []chart.Dependency
	for _, d := range c.Metadata.Dependencies {
		required = append(required, d)
	}
	if err := action.CheckDependencies(c, required); err != nil {
		return nil, failed(wire.FailedChart, "the chart %s lacks dependencies in its directory charts/ (%w). Add them:\n    helm dependency build", c.Name(), err)
	}
	return c, nil
}

// loadBare reads an archive whose root is the chart's directory; nil if it is not.
func loadBare(packed []byte) (*chartv2.Chart, error) {
	all, err := untar(packed)
	if err != nil || all["Chart.yaml"] == nil {
		return nil, err
	}
	files, err := below(packed, wire.ChartReference{})
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(files)
}

func inspect(packed []byte, result *wire.Result) error {
	c, err := load(packed)
	if err != nil {
		return err
	}
	result.Chart = describe(c)
	return nil
}

func describe(c *chartv2.Chart) wire.Chart {
	return wire.Chart{Name: c.Name(), Version: c.Metadata.Version, AppVersion: c.AppVersion()}
}

// pack makes an archive of a chart's directory in a tree, and sends it to the server.
func (s *server) pack(ctx context.Context, call *wire.Call, tree []byte, result *wire.Result) error {
	files, err := below(tree, call.Chart)
	if err != nil {
		return err
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return failed(wire.FailedChart, "the directory %s is not a usable chart: %w", call.Chart.Path, err)
	}
	if call.Chart.Metadata != "" {
		if c.Metadata.Version, err = versionWith(c.Metadata.Version, call.Chart.Metadata); err != nil {
			return err
		}
		described, err := yaml.Marshal(c.Metadata)
		if err != nil {
			return err
		}
		replace(files, "Chart.yaml", described)
	}
	packed, err := write(c.Name(), files)
	if err != nil {
		return err
	}
	if _, err := load(packed); err != nil {
		return err
	}
	result.Chart = describe(c)
	return s.output(ctx, packed)
}

// versionWith adds metadata to a chart's version: the revision of its source.
func versionWith(version, metadata string) (string, error) {
	if metadata == "" {
		return version, nil
	}
	v, err := semver.NewVersion(version)
	if err != nil {
		return "", failed(wire.FailedChart, "the chart's version %q is not a semantic one", version)
	}
	with, err := v.SetMetadata(metadata)
	if err != nil {
		return "", failed(wire.FailedChart, "the revision of the source cannot be a part of the chart's version: %w", err)
	}
	return with.String(), nil
}

func replace(files []*archive.BufferedFile, name string, data []byte) {
	for _, f := range files {
		if f.Name == name {
			f.Data = data
		}
	}
}

// below returns the files of the chart's directory, with the merged values.
func below(tree []byte, ref wire.ChartReference) ([]*archive.BufferedFile, error) {
	all, err := untar(tree)
	if err != nil {
		return nil, failed(wire.FailedChart, "read the source's artifact: %w", err)
	}
	dir := path.Clean("/" + ref.Path)[1:]
	rules := ignore.Empty()
	for name, data := range all {
		if name == path.Join(dir, ignore.HelmIgnore) {
			if rules, err = ignore.Parse(bytes.NewReader(data)); err != nil {
				return nil, failed(wire.FailedChart, "read %s: %w", name, err)
			}
		}
	}
	rules.AddDefaults()
	var files []*archive.BufferedFile
	for name, data := range all {
		inside := name
		if dir != "" {
			var ok bool
			if inside, ok = strings.CutPrefix(name, dir+"/"); !ok {
				continue
			}
		}
		if !rules.Ignore(inside, plain{name: path.Base(inside), size: int64(len(data))}) {
			files = append(files, &archive.BufferedFile{Name: inside, Data: data})
		}
	}
	if len(files) == 0 {
		return nil, failed(wire.FailedChart, "the source has no directory %s", ref.Path)
	}
	slices.SortFunc(files, func(a, b *archive.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	return files, mergeFiles(all, dir, ref, files)
}

// mergeFiles replaces values.yaml by the merged valuesFiles, which are relative to the source's root.
func mergeFiles(all map[string][]byte, dir string, ref wire.ChartReference, files []*archive.BufferedFile) error {
	if len(ref.ValuesFiles) == 0 {
		return nil
	}
	var parts []wire.Values
	for _, name := range ref.ValuesFiles {
		clean := path.Clean("/" + name)[1:]
		data, ok := all[clean]
		if !ok {
			data, ok = all[path.Join(dir, clean)]
		}
		if !ok && ref.IgnoreMissing {
			continue
		}
		if !ok {
			return failed(wire.FailedChart, "values file '%s' is not in the source; create it, or set ignoreMissingValuesFiles", name)
		}
		parts = append(parts, wire.Values{Source: "values file '" + name + "'", Data: data})
	}
	if len(parts) == 0 {
		return nil
	}
	values, err := merge(parts)
	if err != nil {
		return err
	}
	data, err := yaml.Marshal(values)
	if err != nil {
		return err
	}
	replace(files, "values.yaml", data)
	return nil
}

// untar reads the regular files of an archive, within Helm's limit.
func untar(packed []byte) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	left := archive.MaxDecompressedChartSize
	files := map[string][]byte{}
	for t := tar.NewReader(unzipped); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if head.Typeflag != tar.TypeReg {
			continue // a chart has no links
		}
		data, err := io.ReadAll(io.LimitReader(t, left+1))
		if err != nil {
			return nil, err
		}
		if left -= int64(len(data)); left < 0 {
			return nil, fmt.Errorf("it has more than %d MiB", archive.MaxDecompressedChartSize>>20)
		}
		files[path.Clean("/" + head.Name)[1:]] = data
	}
}

// write makes an archive. Equal files give equal bytes.
func write(name string, files []*archive.BufferedFile) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	t := tar.NewWriter(zipped)
	for _, f := range files {
		head := &tar.Header{Name: name + "/" + f.Name, Mode: 0o644, Size: int64(len(f.Data)), ModTime: time.Unix(0, 0)}
		if err := t.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// plain describes a regular file.
type plain struct {
	name string
	size int64
}

func (p plain) Name() string     { return p.name }
func (p plain) Size() int64      { return p.size }
func (plain) Mode() fs.FileMode  { return 0o644 }
func (plain) ModTime() time.Time { return time.Time{} }
func (plain) IsDir() bool        { return false }
func (plain) Sys() any           { return nil }
