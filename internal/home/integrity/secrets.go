// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/nacl/secretbox"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/etcd"
)

// encryption is the part of the API server's encryption configuration that Yuba writes.
type encryption struct {
	APIVersion, Kind string
	Resources        []struct {
		Resources []string
		Providers []struct {
			Secretbox *struct {
				Keys []struct{ Name, Secret string }
			}
		}
	}
}

// box is the prefix of a stored value that a key with this name has encrypted.
const (
	boxPrefix = "k8s:enc:secretbox:v1:"
	nonceSize = 24
	// secretsPrefix precedes the namespace and name of a Secret in its key.
	secretsPrefix = "/registry/secrets/"
	// annotationStateBlob is the annotation of package state.
	annotationStateBlob = "yuba.dev/state-blob"
)

// secretsOpen verifies that one of the keys in the file decrypts every Secret of the store. Users
// may add or replace keys as long as no Secret is lost.
func secretsOpen(dir datadir.Dir) error {
	return eachSecret(dir, func(string, []byte) error { return nil })
}

// eachSecret visits each Secret that the keys in the file have encrypted, in the API server's
// encoding.
func eachSecret(dir datadir.Dir, visit func(key string, plain []byte) error) error {
	boxes, err := boxKeys(dir)
	if err != nil {
		return err
	}
	return etcd.Each(dir.Etcd(), secretsPrefix, func(key string, value []byte) error {
		sealed, ok := bytes.CutPrefix(value, []byte(boxPrefix))
		if !ok {
			return nil // of another provider; the API server checks it
		}
		name, box, _ := bytes.Cut(sealed, []byte(":"))
		with := boxes[string(name)]
		if with == nil || len(box) < nonceSize {
			return fmt.Errorf("the Secret %s is encrypted with the key %q, which the file lacks", key, name)
		}
		plain, ok := secretbox.Open(nil, box[nonceSize:], (*[nonceSize]byte)(box), with)
		if !ok {
			return fmt.Errorf("the Secret %s cannot be decrypted", key)
		}
		return visit(key, plain)
	})
}

// boxKeys returns the keys in the file by name.
func boxKeys(dir datadir.Dir) (map[string]*[32]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir.Keys(), secretsKey))
	if err != nil {
		return nil, fmt.Errorf("read the key that encrypts Secrets: %w", err)
	}
	var config encryption
	// Drop the parser's error: it may quote the key.
	if yaml.Unmarshal(data, &config) != nil || config.APIVersion != "apiserver.config.k8s.io/v1" || config.Kind != "EncryptionConfiguration" {
		return nil, errors.New("the file is not an EncryptionConfiguration of keys")
	}
	boxes := map[string]*[32]byte{}
	for _, resource := range config.Resources {
		if !slices.Contains(resource.Resources, "secrets") {
			continue
		}
		for _, provider := range resource.Providers {
			if provider.Secretbox == nil {
				continue
			}
			for _, key := range provider.Secretbox.Keys {
				raw, err := base64.StdEncoding.DecodeString(key.Secret)
				if err != nil || len(raw) != 32 {
					return nil, fmt.Errorf("its key %q does not have 32 bytes", key.Name)
				}
				boxes[key.Name] = (*[32]byte)(raw)
			}
		}
	}
	return boxes, nil
}

// largeStates lists the state Secrets that only point to the blob store: these states are lost with
// the blobs. It lists none if the Secrets cannot be read.
func largeStates(dir datadir.Dir) []string {
	var names []string
	err := eachSecret(dir, func(key string, plain []byte) error {
		var stored runtime.Unknown
		var secret corev1.Secret
		encoded, ok := bytes.CutPrefix(plain, []byte("k8s\x00"))
		if ok && stored.Unmarshal(encoded) == nil && secret.Unmarshal(stored.Raw) == nil && secret.Annotations[annotationStateBlob] != "" {
			names = append(names, strings.TrimPrefix(key, secretsPrefix))
		}
		return nil
	})
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}
