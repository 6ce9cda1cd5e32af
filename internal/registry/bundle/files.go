// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

const (
	// maxFetched limits a file that is fetched; the images of k3s have 200 MB.
	maxFetched = 8 << 30
	// maxSums limits a list of checksums.
	maxSums = 1 << 20
	// fetchPatience limits one file, connectPatience its beginning.
	fetchPatience, connectPatience = 30 * time.Minute, 10 * time.Second
	fetchRedirects                 = 5
)

// Fetch is a file that a bundle gets below [FileDir].
type Fetch struct {
	// Path is its path there, and in mirrors.
	Path string
	// URL is where it comes from.
	URL string
	// SHA256 is its checksum; empty: that of the list in Sums.
	SHA256 string
	// Sums is the URL of a list of checksums beside the file, as sha256sum writes them. The bundle gets the list, too.
	Sums string
}

// list is the path of the list in Sums.
func (f Fetch) list() string { return path.Join(path.Dir(f.Path), path.Base(f.Sums)) }

// files brings files to a directory. What is there with the right checksum is not fetched again. What an earlier attempt left
// there for something else is removed.
func (c Content) files(ctx context.Context, dir string, tell func(format string, args ...any)) error {
	wanted := map[string]bool{}
	for _, f := range c.Files {
		wanted[f.Path] = true
		place := filepath.Join(dir, FileDir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			return err
		}
		sum, from := f.SHA256, "declared"
		if f.Sums != "" {
			listed, err := c.listed(ctx, f, filepath.Dir(place))
			var absent *absentError
			switch {
			case sum != "" && errors.As(err, &absent):
				tell("no list of checksums %s, which the declared checksum replaces: %v", f.list(), absent.error)
			case err != nil:
				return fmt.Errorf("bundle the file %s: %w", f.Path, err)
			default:
				wanted[f.list()] = true
			}
			if sum == "" {
				sum, from = listed, path.Base(f.Sums)
			}
		}
		if sum == "" {
			return fmt.Errorf("bundle the file %s: its module declares neither sha256 nor sums, so that nobody could verify it", f.Path)
		}
		if got, err := sumOfFile(place); err != nil || got != sum {
			if err := c.fetch(ctx, f.Path, f.URL, place, maxFetched, f.SHA256 != ""); err != nil {
				return fmt.Errorf("bundle the file %s: %w", f.Path, err)
			}
			if got, err = sumOfFile(place); err != nil || got != sum {
				return errors.Join(fmt.Errorf("bundle the file %s: its SHA-256 sum is %s, and the one in %s is %s. It is another file, or somebody changed it", f.Path, got, from, sum), err, os.Remove(place))
			}
		}
		tell("file %s, verified with the checksum of %s", f.Path, from)
	}
	if err := keepOnly(filepath.Join(dir, FileDir), wanted); err != nil {
		return fmt.Errorf("remove the files of an earlier attempt: %w", err)
	}
	return nil
}

// keepOnly removes the files below a directory that are not wanted, such as those of another version. [Pack] takes all that is there.
func keepOnly(dir string, wanted map[string]bool) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == dir {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		at, err := filepath.Rel(dir, name)
		if err != nil || wanted[filepath.ToSlash(at)] {
			return err
		}
		return os.Remove(name)
	})
}

// listed fetches a list of checksums, and finds the file in it.
func (c Content) listed(ctx context.Context, f Fetch, dir string) (string, error) {
	name := path.Base(f.Sums)
	place := filepath.Join(dir, name)
	if err := c.fetch(ctx, f.list(), f.Sums, place, maxSums, false); err != nil {
		return "", err
	}
	text, err := os.ReadFile(place)
	if err != nil {
		return "", err
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 || strings.TrimPrefix(fields[1], "*") != path.Base(f.Path) {
			continue
		}
		if sum, err := hex.DecodeString(fields[0]); err == nil && len(sum) == sha256.Size {
			return strings.ToLower(fields[0]), nil
		}
	}
	return "", fmt.Errorf("%s does not list %s", name, path.Base(f.Path))
}

// absentError means that the place of a file answers, and does not have it.
type absentError struct{ error }

func (e *absentError) Unwrap() error { return e.error }

// absences are the responses of such a place. Object stores answer with 403 if the names of their objects are secret.
var absences = []int{http.StatusForbidden, http.StatusNotFound, http.StatusGone}

// fetch writes a file: from the directory or the mirror of the options, or else from its own URL. byName says that the directory
// may have it without its path.
func (c Content) fetch(ctx context.Context, at, from, place string, most int64, byName bool) (err error) {
	body, err := c.open(ctx, at, from, byName)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read
	part, err := os.Create(place + ".part")
	if err != nil {
		return err
	}
	n, err := io.Copy(part, io.LimitReader(body, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("%s has more than %d MB", at, most>>20)
	}
	if err := errors.Join(err, part.Close()); err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return os.Rename(part.Name(), place)
}

func (c Content) open(ctx context.Context, at, from string, byName bool) (io.ReadCloser, error) {
	if c.FilesFrom != "" {
		// The layout of a mirror. The names of releases have no version: without its path, a list of checksums, and all that it
		// verifies, may be of another one.
		names, lacks := []string{filepath.FromSlash(at)}, "does not have "+at
		if byName { // as a browser saves it
			names, lacks = append(names, path.Base(at)), "has neither "+at+" nor "+path.Base(at)
		}
		for _, name := range names {
			path := filepath.Join(c.FilesFrom, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return os.Open(path)
			}
		}
		return nil, &absentError{fmt.Errorf("%s %s. Download it there from\n    %s", c.FilesFrom, lacks, outbound.Show(from))}
	}
	if c.FilesURL != "" {
		from = strings.TrimSuffix(c.FilesURL, "/") + "/" + strings.ReplaceAll(at, "+", "%2B")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	answer, err := outbound.Client(outbound.Options{Timeout: fetchPatience, Connect: connectPatience, Redirects: fetchRedirects}).Do(request)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("the response is %s", answer.Status), answer.Body.Close())
		if slices.Contains(absences, answer.StatusCode) {
			err = &absentError{err}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w\nWithout a connection, give a directory that has it with --files, or a mirror with --files-url", outbound.Show(from), err)
	}
	return answer.Body, nil
}

func sumOfFile(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}
