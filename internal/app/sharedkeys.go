// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/pki"
)

// serverAuthority is the base name of the files of the server's certificate authority.
const serverAuthority = "server-ca"

// sharedKeys are the files of the directory of keys that all replicas must have alike.
var sharedKeys = []string{"blob.agekey", serverAuthority + ".crt", serverAuthority + ".key"}

// keyRing is the Secret with the keys that replicas share.
type keyRing struct {
	client client.Client
	key    client.ObjectKey
	dir    datadir.Dir
	// found is true once the Secret exists.
	found bool
}

// newKeyRing names the Secret NAMESPACE/NAME; nil for an empty name.
func newKeyRing(c client.Client, name string, dir datadir.Dir) (*keyRing, error) {
	if name == "" {
		return nil, nil
	}
	namespace, name, ok := strings.Cut(name, "/")
	if !ok || namespace == "" || name == "" {
		return nil, fmt.Errorf("--keys-secret %s/%s: want NAMESPACE/NAME", namespace, name)
	}
	return &keyRing{client: c, key: client.ObjectKey{Namespace: namespace, Name: name}, dir: dir}, nil
}

// take makes this replica's keys those of the Secret, if there is one.
func (r *keyRing) take(ctx context.Context) error {
	if r == nil {
		return nil
	}
	var secret corev1.Secret
	err := r.client.Get(ctx, r.key, &secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the keys of Yuba's replicas from the Secret %s: %w", r.key, err)
	}
	r.found = true
	return writeKeys(&secret, r.dir)
}

// give creates the Secret from this replica's keys, unless it exists. If another replica is faster,
// its keys count.
func (r *keyRing) give(ctx context.Context) error {
	if r == nil || r.found {
		return nil
	}
	_, missing := os.Stat(r.dir.BlobKey())
	if err := makeKeys(r.dir); err != nil {
		return err
	}
	err := createKeys(ctx, r.client, r.key, r.dir)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if missing != nil { // nothing is sealed with these
		removeKeys(r.dir)
	}
	return r.take(ctx)
}

func makeKeys(dir datadir.Dir) error {
	if _, err := blob.LoadOrCreateKey(dir.BlobKey()); err != nil {
		return err
	}
	_, err := pki.OpenAuthority(filepath.Join(dir.Keys(), serverAuthority), "yuba server", time.Now())
	return err
}

func createKeys(ctx context.Context, c client.Client, key client.ObjectKey, dir datadir.Dir) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string][]byte{}}
	for _, name := range sharedKeys {
		data, err := os.ReadFile(filepath.Join(dir.Keys(), name))
		if err != nil {
			return fmt.Errorf("read the keys of this replica: %w", err)
		}
		secret.Data[name] = data
	}
	if err := c.Create(ctx, secret); err != nil {
		return fmt.Errorf("create the Secret %s with the keys of Yuba's replicas: %w", key, err)
	}
	return nil
}

func removeKeys(dir datadir.Dir) {
	for _, name := range sharedKeys {
		os.Remove(filepath.Join(dir.Keys(), name)) //nolint:errcheck // what stays is compared
	}
}

// writeKeys writes the keys of a Secret. A data directory with other keys has content that these
// cannot read, so it is refused.
func writeKeys(secret *corev1.Secret, dir datadir.Dir) error {
	if err := os.MkdirAll(dir.Keys(), 0o700); err != nil {
		return fmt.Errorf("write the keys of Yuba's replicas: %w", err)
	}
	for _, name := range sharedKeys {
		data := secret.Data[name]
		if len(data) == 0 {
			return fmt.Errorf("read the keys of Yuba's replicas: the Secret %s/%s has no key %s. Restore it from a backup", secret.Namespace, secret.Name, name)
		}
		path := filepath.Join(dir.Keys(), name)
		have, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err := os.WriteFile(path+".new", data, 0o600)
			if err == nil {
				err = os.Rename(path+".new", path)
			}
			if err != nil {
				return fmt.Errorf("write the keys of Yuba's replicas: %w", err)
			}
		case err != nil:
			return fmt.Errorf("read the keys of this replica: %w", err)
		case string(have) != string(data):
			return fmt.Errorf("the key %s is another one than that of the Secret %s/%s: the data directory belongs to another Yuba. "+
				"Give this replica an empty one", path, secret.Namespace, secret.Name)
		}
	}
	return nil
}
