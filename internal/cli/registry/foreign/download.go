// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/registry/download"
)

// silence is how long a server may send nothing.
const silence = time.Minute

// GitError means that a registry does not have a version's archive, but names a git repository. The
// public registries do so.
type GitError struct{ Source string }

func (e *GitError) Error() string {
	return fmt.Sprintf("the registry has no archive of it, and names a git repository instead: %s. Publish the repository's tags with a ModuleSource: see \"yuba create source module --help\"", e.Source)
}

// location is where the package of a version is.
type location struct {
	url *url.URL
	// dir is the module's directory in the archive; "*" is the only one at its root.
	dir string
	// authorised is true if the download wants the registry's token.
	authorised bool
}

// Fetch downloads a version of a module, and extracts its tree to a new directory in dir. It returns
// the tree. progress gets the bytes as they arrive.
func (r *Registry) Fetch(ctx context.Context, module, version, dir string, progress io.Writer) (string, error) {
	where, err := r.locate(ctx, module, version)
	if err != nil {
		return "", fmt.Errorf("find the archive of %s/%s@%s: %w", r.Host, module, version, err)
	}
	file, err := os.Create(filepath.Join(dir, "package"))
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it is removed with the directory
	if err := r.download(ctx, where, file, progress); err != nil {
		return "", fmt.Errorf("download %s/%s@%s from %s: %w", r.Host, module, version, where.url.Host, err)
	}
	tree := filepath.Join(dir, "tree")
	if err := extract(ctx, file, tree); err != nil {
		return "", fmt.Errorf("unpack %s/%s@%s: %w", r.Host, module, version, err)
	}
	tree, err = below(tree, where.dir)
	if err != nil {
		return "", fmt.Errorf("unpack %s/%s@%s: %w", r.Host, module, version, err)
	}
	return tree, nil
}

// locate asks where the package of a version is. Registries answer in a header, and newer ones also in
// a document, which tofu prefers since 1.12.
func (r *Registry) locate(ctx context.Context, module, version string) (location, error) {
	response, text, err := r.read(ctx, r.services["modules.v1"].JoinPath(module, version, "download"))
	if err != nil {
		return location{}, err
	}
	var document struct {
		Location   string `json:"location"`
		Authorised bool   `json:"use_registry_credentials"`
	}
	source, authorised := response.Header.Get("X-Terraform-Get"), false
	if json.Unmarshal(text, &document) == nil && document.Location != "" {
		source, authorised = document.Location, document.Authorised
	}
	if source == "" {
		return location{}, errors.New("the answer has no X-Terraform-Get header")
	}
	where, err := parseLocation(response.Request.URL, source)
	where.authorised = authorised
	return where, err
}

// getter is the prefix of a source that names how to fetch it, such as "git::".
var getter = regexp.MustCompile(`^([A-Za-z0-9]+)::(.+)$`)

// shorthand matches the hosts whose repositories tofu clones without a prefix.
var shorthand = regexp.MustCompile(`^(github\.com|bitbucket\.org)/|^git@|\.git(//|\?|$)`)

// parseLocation parses a source in tofu's notation: a URL, perhaps with a directory after "//".
func parseLocation(at *url.URL, source string) (location, error) {
	if forced := getter.FindStringSubmatch(source); forced != nil {
		switch forced[1] {
		case "git":
			return location{}, &GitError{withoutPassword(source)}
		case "https", "http":
			source = forced[2]
		default:
			return location{}, fmt.Errorf("the archive is to be fetched by %q, which the copy cannot do: %s", forced[1], outbound.Show(forced[2]))
		}
	}
	if shorthand.MatchString(source) && !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "/") {
		return location{}, &GitError{withoutPassword(source)}
	}
	u, err := at.Parse(source)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return location{}, fmt.Errorf("the archive is not at an https:// URL: %s", outbound.Show(source))
	}
	where := location{url: u}
	if path, dir, found := strings.Cut(u.EscapedPath(), "//"); found {
		if where.dir, err = url.PathUnescape(dir); err != nil {
			return location{}, fmt.Errorf("the archive is not at a valid URL: %s", outbound.Show(source))
		}
		if u.Path, err = url.PathUnescape(path); err != nil {
			return location{}, fmt.Errorf("the archive is not at a valid URL: %s", outbound.Show(source))
		}
		u.RawPath = path
	}
	// The parameter is for tofu, which does not send it, either.
	query := u.Query()
	if kind := query.Get("archive"); kind == "false" {
		return location{}, fmt.Errorf("the URL is that of a single file and not of an archive: %s", outbound.Show(source))
	}
	if query.Has("archive") {
		query.Del("archive")
		u.RawQuery = query.Encode()
	}
	return where, nil
}

// withoutPassword hides credentials in a source.
func withoutPassword(source string) string {
	return regexp.MustCompile(`://[^/@]*@`).ReplaceAllString(source, "://")
}

// download writes the package to a file.
func (r *Registry) download(ctx context.Context, where location, to *os.File, progress io.Writer) error {
	return again(ctx, func() error {
		if _, err := to.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := to.Truncate(0); err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		alarm := time.AfterFunc(silence, func() { cancel(errors.New("the server sent nothing for a while")) })
		defer alarm.Stop()
		response, err := r.get(ctx, where.url, where.authorised)
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // it was only read
		body := &download.Awake{Reader: io.LimitReader(response.Body, archive.DefaultMaxPacked+1), Alarm: alarm, Silence: silence}
		n, err := io.Copy(io.MultiWriter(to, progress), body)
		var local *fs.PathError
		switch {
		case errors.As(err, &local):
			return err
		case err != nil:
			return explain(ctx, err)
		case n > archive.DefaultMaxPacked:
			return fmt.Errorf("it has more than %d MiB", archive.DefaultMaxPacked>>20)
		}
		return nil
	})
}
