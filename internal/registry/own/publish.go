// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// abandonedAfter is how long an upload may be incomplete before another one may take its place.
const abandonedAfter = time.Hour

// Publish stores a release from a tar archive of its files. It reports whether it changed anything:
// the same files again succeed and change nothing.
func (s *Store) Publish(ctx context.Context, v layout.ProviderVersion, files io.Reader, by string) (Published, bool, error) {
	if v.Host != "" {
		return Published{}, false, &InvalidError{What: "publish " + v.String(), Reason: "a provider of one's own has no host in its name"}
	}
	place, err := s.uploads.Begin(ctx, by)
	if err != nil {
		return Published{}, false, fmt.Errorf("publish %s: %w", v, err)
	}
	defer place.End()
	staged, err := s.staging.New()
	if err != nil {
		return Published{}, false, &offer.StoreError{What: "the upload of " + v.String(), Err: err}
	}
	defer staged.Remove()
	u := &upload{version: v, dir: staged.Dir, place: place, sums: map[string]string{}}
	if err := u.receive(files, s.options.MaxUpload); err != nil {
		return Published{}, false, err
	}
	if err := s.check(ctx, u); err != nil {
		return Published{}, false, err
	}
	defer s.alone(v)()
	if have, err := s.same(ctx, u); have != nil || err != nil {
		return deref(have), false, err
	}
	if err := s.authenticate(ctx, u); err != nil {
		return Published{}, false, err
	}
	if err := s.store(ctx, u, by); err != nil {
		return Published{}, false, err
	}
	if err := s.reload(ctx, v); err != nil {
		return Published{}, true, err
	}
	done, err := s.Describe(ctx, v)
	return done, true, err
}

// check checks an upload when it may be read.
func (s *Store) check(ctx context.Context, u *upload) error {
	end, err := s.uploads.Reading(ctx)
	if err != nil {
		return err
	}
	defer end()
	return u.check()
}

func deref(p *Published) Published {
	if p == nil {
		return Published{}
	}
	return *p
}

// alone excludes other uploads of the version in this process.
func (s *Store) alone(v layout.ProviderVersion) (unlock func()) {
	held, _ := s.publishing.LoadOrStore(v, &sync.Mutex{})
	mutex := held.(*sync.Mutex) //nolint:errcheck,forcetypeassert // the map has nothing else
	mutex.Lock()
	return mutex.Unlock
}

// same returns the release if it is published with these files, and an error if with others.
func (s *Store) same(ctx context.Context, u *upload) (*Published, error) {
	if err := s.reload(ctx, u.version); err != nil {
		return nil, err
	}
	have, err := s.Describe(ctx, u.version)
	var none *offer.NotFoundError
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(have.SumsFile, u.list) {
		return nil, &ConflictError{u.version, "the version exists with other files"}
	}
	if have.Foreign || len(have.Packages) < len(u.packages) {
		return nil, nil // another program published it, perhaps not with all platforms
	}
	return &have, nil
}

// authenticate verifies the signature with the keys of the namespace, at this moment.
func (s *Store) authenticate(ctx context.Context, u *upload) error {
	what := "publish " + u.version.String()
	keys, err := s.namespaceKeys(ctx, u.version.Namespace)
	if err != nil {
		return err
	}
	add := fmt.Sprintf("yuba registry keys add %s KEY.asc", u.version.Namespace)
	if len(keys.GPG) == 0 {
		return &InvalidError{What: what, Reason: fmt.Sprintf("the namespace %s has no signing keys", u.version.Namespace), Next: "Add the public key that signs the releases:\n    " + add}
	}
	u.signer, err = release.Verify(keys.GPG, u.list, u.signature, s.now())
	if err != nil {
		refused := &InvalidError{What: what, Reason: err.Error(), Next: "See the keys of the namespace, or add one:\n    yuba registry keys list " + u.version.Namespace + "\n    " + add}
		return refused
	}
	for _, key := range keys.GPG {
		if release.Describe(key, s.now()).Fingerprint == u.signer {
			u.signerKeys = append(u.signerKeys, key)
		}
	}
	return nil
}

// store stores the files. Until the record says that all of them are there, no program of ours serves
// the release.
func (s *Store) store(ctx context.Context, u *upload, by string) error {
	pending := &storedRecord{Pending: true, Upload: rand.Text(), Sums: sumOf(u.list), Published: s.now().UTC(), By: by}
	replaced, err := s.reserve(ctx, u.version, pending)
	if err != nil {
		return err
	}
	var created []string
	err = s.storeFiles(ctx, u, &created)
	if err == nil {
		done := &storedRecord{Sums: pending.Sums, Protocols: u.protocols, Keys: u.signerKeys, Signer: u.signer, Packages: map[string]release.Package{}, Published: pending.Published, By: by}
		for platform, pkg := range u.packages {
			done.Packages[platform.String()] = pkg
		}
		err = s.writeStored(ctx, u.version, done, s.put)
	}
	if err == nil {
		return nil
	}
	s.cleanUp(ctx, u.version, pending, replaced, created)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &offer.StoreError{What: u.version.String(), Err: err}
}

// cleanUp removes what a failed upload created: the next attempt needs the room, and other programs
// would serve half a release. It leaves everything if another server has published the same files
// meanwhile, or is doing so.
func (s *Store) cleanUp(ctx context.Context, v layout.ProviderVersion, pending, replaced *storedRecord, created []string) {
	// ctx may have ended because the client went away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	now, err := s.loadStored(ctx, v)
	if err == nil && (now == nil || now.Upload != pending.Upload) {
		return
	}
	if err == nil && replaced != nil {
		err = s.writeStored(ctx, v, replaced, s.put)
	} else if err == nil {
		created = append(created, v.OwnKey())
	}
	for _, key := range created {
		err = errors.Join(err, s.bucket.Delete(ctx, key))
	}
	if err != nil {
		s.log.Warn("the remains of an upload were not removed", "version", v.String(), "error", err)
	}
}

// reserve writes the record of an upload that begins, unless another one is in progress. It returns the
// complete record that this replaces, if there is one.
func (s *Store) reserve(ctx context.Context, v layout.ProviderVersion, pending *storedRecord) (replaced *storedRecord, err error) {
	err = s.writeStored(ctx, v, pending, s.create)
	if !errors.Is(err, blob.ErrExists) {
		if err != nil {
			return nil, &offer.StoreError{What: v.String(), Err: err}
		}
		return nil, nil
	}
	have, err := s.loadStored(ctx, v)
	if err != nil {
		return nil, err
	}
	if have != nil && have.Pending && have.Sums != pending.Sums && s.now().Sub(have.Published) < abandonedAfter {
		return nil, &ConflictError{v, "another upload with other files is in progress, or ended less than an hour ago"}
	}
	if have != nil && !have.Pending && have.Sums != pending.Sums {
		return nil, &ConflictError{v, "the version exists with other files"}
	}
	if err := s.writeStored(ctx, v, pending, s.put); err != nil {
		return nil, &offer.StoreError{What: v.String(), Err: err}
	}
	if have != nil && have.Pending {
		have = nil
	}
	return have, nil
}

// storeFiles creates the files: what the clients need to verify first, so that another program does
// not offer an archive without it.
func (s *Store) storeFiles(ctx context.Context, u *upload, created *[]string) error {
	names := []string{u.version.Signature(), u.version.Sums()}
	for platform := range u.packages {
		names = append(names, u.version.Archive(platform))
	}
	for _, name := range names {
		made, err := s.storeFile(ctx, u, name)
		if made {
			*created = append(*created, u.version.Key(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storeFile creates a file. The remains of an earlier attempt are replaced if they are not the same:
// they were never served.
func (s *Store) storeFile(ctx context.Context, u *upload, name string) (made bool, err error) {
	file, err := os.Open(u.path(name))
	if err != nil {
		return false, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	key := u.version.Key(name)
	err = s.bucket.Create(ctx, key, file)
	if !errors.Is(err, blob.ErrExists) {
		return err == nil, err
	}
	if equal, err := s.equal(ctx, key, u.sums[name]); equal || err != nil {
		return false, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	return false, s.bucket.Put(ctx, key, file)
}

// equal compares an object with a sum.
func (s *Store) equal(ctx context.Context, key, sum string) (bool, error) {
	r, err := s.bucket.Open(ctx, key)
	if err != nil {
		return false, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	got, err := release.Sum(r)
	return got == sum, err
}

// reload lists the files of a provider anew.
func (s *Store) reload(ctx context.Context, v layout.ProviderVersion) error {
	s.mu.Lock()
	if f := s.found[v.Provider][v.Version]; f != nil {
		forgotten := *f
		forgotten.record = nil
		s.found[v.Provider][v.Version] = &forgotten
	}
	s.mu.Unlock()
	return s.relist(ctx, v.Provider) // a list that others wait for may have begun too early
}
