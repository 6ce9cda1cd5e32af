// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/etcd"
)

var all = map[string]string{secretsKey: "1", blobsKey: "2", authorityCertificate: "3", authorityKey: "4", tokenKey: "5"}

// without returns the keys without one.
func without(name string) map[string]string {
	keys := maps.Clone(all)
	delete(keys, name)
	return keys
}

// with returns the keys with another one of that name.
func with(name string) map[string]string {
	keys := maps.Clone(all)
	keys[name] = "another"
	return keys
}

// home is one that was ready before, and is whole.
func home(change func(*facts)) facts {
	f := facts{
		record: &Record{Store: "abc", Keys: all, Blobs: true}, used: true, blobsHere: true, sealed: true,
		store: etcd.Facts{Cluster: "abc"}, keys: all,
	}
	if change != nil {
		change(&f)
	}
	return f
}

// older is one whose Yuba kept no record.
func older(change func(*facts)) facts {
	return home(func(f *facts) {
		f.record = nil
		change(f)
	})
}

// first is what a first start finds that was cut short after its keys were made.
func first(change func(*facts)) facts {
	f := facts{blobsHere: true, store: etcd.Facts{Empty: true}, keys: without(blobsKey)}
	if change != nil {
		change(&f)
	}
	return f
}

func none(*facts) {}

func TestDecide(t *testing.T) {
	cut := &etcd.DamageError{Problem: "member/snap/db is truncated"}
	noLog := &etcd.DamageError{Problem: "member/wal is missing", DatabaseIsWhole: true}
	for sentence, test := range map[string]struct {
		facts facts
		want  string
		lost  Loss
	}{
		"a whole home starts":                      {home(nil), "", ""},
		"a whole home of an older Yuba starts":     {older(none), "", ""},
		"an empty directory starts":                {facts{store: etcd.Facts{Empty: true}, blobsHere: true}, "", ""},
		"a first start that was cut short goes on": {first(nil), "", ""},
		"one cut short while it made keys goes on": {first(func(f *facts) { f.keys = map[string]string{secretsKey: "1"} }), "", ""},
		"one cut short before its record goes on":  {first(func(f *facts) { f.store = etcd.Facts{Cluster: "x"} }), "", ""},
		"no store":                   {home(func(f *facts) { f.store = etcd.Facts{Empty: true} }), "etcd/ has no store", LossObjects},
		"no store, of an older Yuba": {older(func(f *facts) { f.store = etcd.Facts{Empty: true} }), "etcd/ has no store", LossObjects},
		"no store, as was accepted":  {home(func(f *facts) { f.store = etcd.Facts{Empty: true}; f.record = &Record{Keys: all} }), "", ""},
		"a damaged store, as was accepted, but still there": {home(func(f *facts) { f.damage = cut; f.record = &Record{Keys: all} }), "truncated", LossObjects},
		"a damaged store":                       {home(func(f *facts) { f.damage = cut }), "etcd/member/snap/db is truncated, so objects would be missing", LossObjects},
		"a damaged log":                         {home(func(f *facts) { f.damage = noLog }), "etcd/member/wal is missing", LossLastChanges},
		"the store of another home":             {home(func(f *facts) { f.store.Cluster = "def" }), "another home", LossObjects},
		"no key of Secrets":                     {home(func(f *facts) { f.keys = without(secretsKey) }), "keys/encryption.yaml is missing", LossObjects},
		"no key of Secrets, of an older Yuba":   {older(func(f *facts) { f.keys = without(secretsKey) }), "keys/encryption.yaml is missing", LossObjects},
		"neither store nor key of Secrets":      {home(func(f *facts) { f.keys = without(secretsKey); f.store = etcd.Facts{Empty: true} }), "keys/encryption.yaml is missing", LossObjects},
		"another key of Secrets":                {home(func(f *facts) { f.keys = with(secretsKey); f.secrets = errors.New("it does not open x") }), "it does not open x", LossObjects},
		"a further key of Secrets":              {home(func(f *facts) { f.keys = with(secretsKey) }), "", ""},
		"no key of blobs":                       {home(func(f *facts) { f.keys = without(blobsKey) }), "keys/blob.agekey is missing", LossBlobs},
		"no key of blobs, of an older Yuba":     {older(func(f *facts) { f.keys = without(blobsKey) }), "keys/blob.agekey is missing", LossBlobs},
		"no key of blobs that are in a bucket":  {home(func(f *facts) { f.keys = without(blobsKey); f.blobsHere, f.sealed = false, false }), "keys/blob.agekey is missing", ""},
		"another key of blobs":                  {home(func(f *facts) { f.keys = with(blobsKey); f.unfit = errors.New("sealed for x") }), "sealed for x", LossBlobs},
		"no blobs":                              {home(func(f *facts) { f.sealed = false }), "blobs/ is missing", LossBlobs},
		"no blobs, they are in a bucket by now": {home(func(f *facts) { f.sealed, f.blobsHere = false, false }), "", ""},
		"no authority":                          {home(func(f *facts) { f.keys = without(authorityKey) }), "keys/ca.key is missing", LossCredentials},
		"no authority, of an older Yuba":        {older(func(f *facts) { f.keys = without(authorityCertificate) }), "keys/ca.crt is missing", LossCredentials},
		"another authority":                     {home(func(f *facts) { f.keys = with(authorityCertificate) }), "keys/ca.crt does not belong to this home", LossCredentials},
		"no key of tokens":                      {home(func(f *facts) { f.keys = without(tokenKey) }), "keys/service-account.key is missing", LossCredentials},
		"no credentials, as was accepted": {home(func(f *facts) {
			f.keys = map[string]string{secretsKey: "1", blobsKey: "2"}
			f.record.Keys = f.keys
		}), "", ""},
		"no keys at all": {home(func(f *facts) { f.keys = nil }), "keys/encryption.yaml is missing", LossObjects},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := decide(test.facts)
			if test.want == "" {
				if p != nil {
					t.Errorf("it is refused: %s", p.text)
				}
				return
			}
			if p == nil || !strings.Contains(p.text, test.want) || p.lost != test.lost {
				t.Errorf("got %+v, want %q and the loss %q", p, test.want, test.lost)
			}
		})
	}
}

func TestARefusalNamesTheWaysBack(t *testing.T) {
	p := decide(home(func(f *facts) { f.keys = without(blobsKey) }))
	want := `use the data directory /d: keys/blob.agekey is missing; without it no state, log or plan of this home can be read. Nothing was changed
To put back the keys of a backup of this home:
    tar -xf FILE -C /d keys
To replace everything with a backup:
    yuba restore FILE --data-dir /d
    yuba up --data-dir /d
To give up state versions, logs, plans and archives; objects stay, and so does each state that fits into a Secret:
    yuba up --data-dir /d --accept-loss blobs`
	if got := p.refusal(datadir.Dir("/d")).Error(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestARefusalNamesTheStatesThatNoSecretHolds(t *testing.T) {
	p := decide(home(func(f *facts) { f.sealed = false }))
	p.large = []string{"a/1", "a/2", "b/1", "b/2", "b/3", "c/1", "c/2"}
	if got := p.refusal(datadir.Dir("/d")).Error(); !strings.Contains(got, "These states do not fit and are lost: a/1, a/2, b/1, b/2, b/3 and 2 more:\n    yuba up") {
		t.Errorf("got %s", got)
	}
	p.lost = LossObjects
	if got := p.refusal(datadir.Dir("/d")).Error(); strings.Contains(got, "a/1") {
		t.Errorf("they stay, and it says %s", got)
	}
}

func TestCommandsOfARefusalCanBeCopied(t *testing.T) {
	for dir, want := range map[string]string{
		"/var/lib/yuba-2": "/var/lib/yuba-2",
		"/my data/yuba":   "'/my data/yuba'",
		"/it's/$HOME":     `'/it'\''s/$HOME'`,
	} {
		p := decide(home(func(f *facts) { f.store.Cluster = "def" }))
		if got := p.refusal(datadir.Dir(dir)).Error(); !strings.Contains(got, "\n    yuba up --data-dir "+want+" --accept-loss objects") ||
			!strings.Contains(got, "\n    yuba restore FILE --data-dir "+want+"\n") {
			t.Errorf("%s: got %s", dir, got)
		}
	}
}
