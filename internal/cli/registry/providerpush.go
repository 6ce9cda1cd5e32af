// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/own"
)

func newProviderPushCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "push DIR|FILES… NAMESPACE/NAME@VERSION", SuggestFor: []string{"publish", "upload"},
		Short: "Publish a version of your own provider",
		Long: `Publish a version of your own provider: an archive for each platform, the list of their checksums and its signature. From a
directory the command takes the files whose names begin with terraform-provider-NAME_VERSION_, as goreleaser writes them, and
terraform-registry-manifest.json if there is one.

The server compares names and checksums, and verifies the signature with the signing keys of the namespace; see "yuba registry
keys". Published versions never change. Publishing the same files again succeeds and changes nothing.`,
		Example: "  yuba registry provider push dist/ acme/thing@1.0.0\n  yuba registry provider push *.zip *SHA256SUMS *SHA256SUMS.sig acme/thing@1.0.0",
		Args:    cobra.MinimumNArgs(2),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		name := args[len(args)-1]
		v, err := parseProviderVersion(name)
		if err == nil && (v.Version == "" || v.Host != "") {
			err = fmt.Errorf("the provider %q: expected NAMESPACE/NAME@VERSION, such as acme/thing@1.0.0", name)
		}
		if err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		files, err := providerFiles(v, args[:len(args)-1])
		if err != nil {
			return err
		}
		progress := s.NewProgress("Publishing " + v.String())
		upload := &tarred{paths: files, progress: progress}
		defer upload.close()
		done, err := patiently(cmd.Context(), s.News, "publish "+v.String(), func() (content.PublishedProvider, error) {
			return s.Content.PublishProvider(cmd.Context(), v, upload)
		})
		progress.End()
		if err != nil {
			return explained(err, "publish "+v.String())
		}
		switch {
		case out.Form == "name":
			_, err = fmt.Fprintln(s.Out, v)
			return err
		case out.Machine():
			return out.Print(s.Out, done)
		case done.Changed:
			s.News("%s is published for %d platforms, signed by %s.", v, len(done.Release.Packages), done.Release.Signer)
		default:
			s.News("%s is published with these files already.", v)
		}
		return nil
	})
	return cmd
}

// providerFiles returns the files to send, after checks that need no server.
func providerFiles(v layout.ProviderVersion, args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, fmt.Errorf("publish %s: %w", v, err)
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		found, err := filesIn(v, arg)
		if err != nil {
			return nil, fmt.Errorf("publish %s: %w", v, err)
		}
		files = append(files, found...)
	}
	for _, needed := range []string{v.Sums(), v.Signature()} {
		if !slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == needed }) {
			return nil, fmt.Errorf("publish %s: %s is missing in %s. Make it with\n    sha256sum *.zip > %s\n    gpg --detach-sign %s", v, needed, strings.Join(args, " "), v.Sums(), v.Sums())
		}
	}
	return files, nil
}

func filesIn(v layout.ProviderVersion, dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(v.Sums(), "SHA256SUMS")
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), prefix)
		ours = ours && (strings.HasSuffix(rest, ".zip") || rest == "SHA256SUMS" || rest == "SHA256SUMS.sig" || rest == "manifest.json")
		if entry.Type().IsRegular() && (ours || entry.Name() == own.Manifest) {
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	return files, nil
}

// tarred is a tar archive of files that is made while it is read. It can be read again from its
// beginning.
type tarred struct {
	paths    []string
	progress io.Writer
	from     *io.PipeReader
}

// Seek implements io.Seeker for the beginning only.
func (t *tarred) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.New("it can only be read from the beginning")
	}
	t.close()
	from, to := io.Pipe()
	t.from = from
	go func() { to.CloseWithError(t.write(to)) }()
	return 0, nil
}

func (t *tarred) Read(p []byte) (int, error) {
	if t.from == nil {
		if _, err := t.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
	}
	return t.from.Read(p)
}

// close ends the goroutine that writes.
func (t *tarred) close() {
	if t.from != nil {
		t.from.Close() //nolint:errcheck // it never fails
	}
}

func (t *tarred) write(to io.Writer) error {
	archive := tar.NewWriter(io.MultiWriter(to, t.progress))
	for _, path := range t.paths {
		if err := add(archive, path); err != nil {
			return err
		}
	}
	return archive.Close()
}

func add(archive *tar.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: filepath.Base(path), Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}
