// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/s3test"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
	"github.com/yuba-dev/yuba/internal/testkit/storetest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var awsKeys = store.Keys{ID: ssmtest.AccessKey, Secret: ssmtest.SecretKey}

func newSSM(t *testing.T) store.Store {
	return &store.SSM{Parameter: "/configuration/base", Region: ssmtest.Region, Endpoint: ssmtest.New(t).URL, Keys: awsKeys}
}

func newS3(t *testing.T) store.Store {
	s := s3test.New(t, "configurations")
	return &store.S3{Bucket: s.Bucket, Key: "configuration/base.json", Region: s3test.Region, Endpoint: s.URL, Keys: awsKeys}
}

func newObject(secret, attributes bool) func(t *testing.T) store.Store {
	return func(t *testing.T) store.Store {
		c := apitest.Client(t)
		return &store.Object{Client: c, Namespace: apitest.Namespace(t), ObjectName: "base", Key: "document.json", Secret: secret,
			Attributes: attributes, Reload: true, Labels: map[string]string{"yuba.dev/bridge": "base"}}
	}
}

// TestStores is the conformance suite: each store, on a real server, keeps the promises of the interface.
func TestStores(t *testing.T) {
	for name, open := range map[string]func(*testing.T) store.Store{
		"SSM": newSSM, "S3": newS3, "ConfigMap": newObject(false, false), "Secret": newObject(true, true),
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Conform(t, open(t))
		})
	}
}

// TestRefusals: what a store can never have is told apart from what may succeed later, and no error
// contains the document or a credential.
func TestRefusals(t *testing.T) {
	ctx := context.Background()
	ssm := ssmtest.New(t)
	parameter := store.SSM{Parameter: "/configuration/base", Region: ssmtest.Region, Endpoint: ssm.URL, Keys: awsKeys}
	wrongKey, awsName := parameter, parameter
	wrongKey.Keys.Secret = "hunter2"
	awsName.Parameter = "/aws/base"
	s3 := s3test.New(t, "configurations")
	noBucket := &store.S3{Bucket: "other", Key: "a.json", Region: s3test.Region, Endpoint: s3.URL, Keys: awsKeys}
	for name, test := range map[string]struct {
		store     store.Store
		content   string
		permanent bool
		says      string
	}{
		"SSM: too large":     {&parameter, `{"password":"hunter2` + strings.Repeat("x", 9000) + `"}`, true, "has 9022 bytes, and a parameter has at most 8192"},
		"SSM: nested":        {&parameter, `{"password":"{{hunter2}}"}`, true, "which SSM refuses"},
		"SSM: name":          {&awsName, `{"password":"hunter2"}`, true, "can't be prefixed"},
		"SSM: signature":     {&wrongKey, `{"password":"hunter2"}`, false, "signature"},
		"S3: no bucket":      {noBucket, `{"password":"hunter2"}`, false, "NoSuchBucket"},
		"Vault: no object":   {&store.Vault{Address: "http://127.0.0.1:1", Path: "a", Token: "a"}, `["hunter2"]`, true, "not an object"},
		"nobody listens":     {&store.Vault{Address: "http://127.0.0.1:1", Path: "a", Token: "hunter2"}, `{"a":"hunter2"}`, false, "refused"},
		"a metadata service": {&store.Vault{Address: "http://169.254.169.254", Path: "a", Token: "hunter2"}, `{"a":"hunter2"}`, false, "169.254.169.254"},
	} {
		err := test.store.Write(ctx, []byte(test.content), "")
		r := new(store.RefusedError)
		if err == nil || errors.As(err, &r) != test.permanent || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error with %q (permanent: %v)", name, err, test.says, test.permanent)
		}
	}
	ssm.Throttle(1)
	if _, err := parameter.Read(ctx); err == nil || !strings.Contains(err.Error(), "ThrottlingException") {
		t.Error(err)
	}
}

// TestAttributes: each attribute is a key, for envFrom; a changed key is a changed document.
func TestAttributes(t *testing.T) {
	ctx := context.Background()
	s := newObject(true, true)(t).(*store.Object)
	if err := s.Write(ctx, []byte(`{"host":"db","port":5432,"tags":["a"],"note":null}`), ""); err != nil {
		t.Fatal(err)
	}
	var got corev1.Secret
	if err := s.Client.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: "base"}, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"document.json": []byte(`{"host":"db","port":5432,"tags":["a"],"note":null}`), "host": []byte("db"), "port": []byte("5432"), "tags": []byte(`["a"]`)}
	if !reflect.DeepEqual(got.Data, want) || got.Annotations["reloader.stakater.com/match"] != "true" || got.Labels["yuba.dev/bridge"] != "base" {
		t.Fatalf("%s %v %v", got.Data, got.Annotations, got.Labels)
	}
	got.Data["host"] = []byte("elsewhere")
	if err := s.Client.Update(ctx, &got); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Read(ctx); err != nil || string(d.Content) == string(want["document.json"]) || !strings.Contains(string(d.Content), "elsewhere") {
		t.Fatal(string(d.Content), err)
	}
	err := s.Write(ctx, []byte(`{"a/b":1}`), "")
	if r := new(store.RefusedError); !errors.As(err, &r) {
		t.Fatal(err)
	}
}
