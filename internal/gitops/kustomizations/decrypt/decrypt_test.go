// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decrypt_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/pgp"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt/sopsfile"
	"github.com/yuba-dev/yuba/internal/testkit/sopstest"
)

func keysOf(t *testing.T, data map[string][]byte) *decrypt.Keys {
	t.Helper()
	keys, err := decrypt.NewKeys("Secret team/sops-age", data, sopsfile.Open)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func agekey(identity *age.X25519Identity) map[string][]byte {
	return map[string][]byte{"identity.agekey": []byte("# created: today\n# public key: x\n" + identity.String() + "\n")}
}

func TestEveryFormatIsOpened(t *testing.T) {
	id := sopstest.Identity(t)
	groups := []sops.KeyGroup{sopstest.For(t, id)}
	ours := keysOf(t, agekey(id))
	cases := map[string]struct {
		name   string
		format string
		plain  string
	}{
		"YAML":   {"a.yaml", "yaml", "password: hunter2\nnumber: 3\nlist:\n    - a\n    - true\n"},
		"JSON":   {"a.json", "json", "{\n\t\"password\": \"hunter2\"\n}\n"},
		"dotenv": {"a.env", "dotenv", "PASSWORD=hunter2\nUSER=me\n"},
		"INI":    {"a.ini", "ini", "[section]\npassword = hunter2\n"},
		"bytes":  {"a.key", "binary", "-----BEGIN KEY-----\n\x01hunter2\n"},
		"docker": {".dockerconfigjson", "json", "{\n\t\"auths\": {\n\t\t\"r\": {\n\t\t\t\"auth\": \"aHVudGVyMg==\"\n\t\t}\n\t}\n}\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := sopstest.Encrypt(t, c.plain, sopstest.Options{Format: c.format, Groups: groups})
			if strings.Contains(string(file), "hunter2") {
				t.Fatal("not encrypted")
			}
			plain, err := ours.File(file, decrypt.FormatOf(c.name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.plain, string(plain)); diff != "" {
				t.Error(diff)
			}
			same, err := ours.File([]byte(c.plain), decrypt.FormatOf(c.name))
			if err != nil || string(same) != c.plain {
				t.Errorf("an unencrypted file: %q, %v", same, err)
			}
		})
	}
}

func TestFilesThatWereChangedAreRefused(t *testing.T) {
	id := sopstest.Identity(t)
	groups := []sops.KeyGroup{sopstest.For(t, id)}
	ours := keysOf(t, agekey(id))
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n    name: a\n    labels:\n        x: plain\nstringData:\n    password: hunter2\n    other: correct horse\n"
	file := string(sopstest.Encrypt(t, secret, sopstest.Options{Format: "yaml", Groups: groups, Regex: "^(data|stringData)$"}))
	values := []string{between(t, file, "password: ", "\n"), between(t, file, "other: ", "\n")}
	only := string(sopstest.Encrypt(t, secret, sopstest.Options{Format: "yaml", Groups: groups, Regex: "^(data|stringData)$", OnlyEncrypted: true}))
	stream := string(sopstest.Encrypt(t, secret+"---\n"+strings.ReplaceAll(secret, "name: a", "name: b"), sopstest.Options{Format: "yaml", Groups: groups, Regex: "^(data|stringData)$"}))
	cases := map[string]struct{ file, want string }{
		"nothing changed": {file: file},
		"the rest edited, where only what is encrypted counts": {file: strings.Replace(only, "x: plain", "x: edited", 1)},
		"two documents of one file":                            {file: stream},
		"two files one behind the other":                       {file: file + "---\n" + only},
		"one that is not encrypted behind it":                  {file: file + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"},
		"not to be decrypted":                                  {file: strings.Replace(strings.Replace(file, "x: plain", "x: edited", 1), "    labels:", "    annotations:\n        kustomize.toolkit.fluxcd.io/decrypt: disabled\n    labels:", 1)},
		"the rest edited":                                      {file: strings.Replace(file, "x: plain", "x: edited", 1), want: "its message authentication code does not match its content"},
		"a document taken away":                                {file: stream[:strings.Index(stream, "\n---\n")+1], want: "its message authentication code does not match its content"},
		"values exchanged":                                     {file: strings.NewReplacer(values[0], values[1], values[1], values[0]).Replace(file), want: "a value was changed or moved"},
		"a value in plain text":                                {file: strings.Replace(file, values[0], "hunter3", 1), want: "a value that should be encrypted is not"},
		"a section that is broken":                             {file: strings.Replace(file, "lastmodified: \"", "lastmodified: \"x", 1), want: `its section "sops" cannot be read`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := ours.Verify([]byte(c.file))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error: %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter") {
				t.Errorf("error shows a value: %v", err)
			}
		})
	}
}

func between(t *testing.T, text, before, behind string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, before)
	if !ok {
		t.Fatalf("no %q in:\n%s", before, text)
	}
	found, _, _ := strings.Cut(rest, behind)
	return found
}

func TestObjectsAreOpened(t *testing.T) {
	id := sopstest.Identity(t)
	groups := []sops.KeyGroup{sopstest.For(t, id)}
	ours := keysOf(t, agekey(id))
	object := func(text []byte) map[string]any {
		fields := map[string]any{}
		if err := yaml.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	encoded := func(text, format string) string {
		return base64.StdEncoding.EncodeToString(sopstest.Encrypt(t, text, sopstest.Options{Format: format, Groups: groups}))
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  x: aHVudGVyMg==\nstringData:\n  count: \"3\"\n"

	t.Run("a whole object, although kustomize has changed it", func(t *testing.T) {
		encrypted := object(sopstest.Encrypt(t, secret, sopstest.Options{Format: "yaml", Groups: groups, Regex: "^(data|stringData)$"}))
		encrypted["metadata"].(map[string]any)["namespace"] = "added"
		got, opened, err := ours.Object(encrypted)
		if err != nil || !opened {
			t.Fatal(opened, err)
		}
		want := object([]byte(strings.Replace(secret, "  name: a\n", "  name: a\n  namespace: added\n", 1)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("entries of a Secret", func(t *testing.T) {
		got, opened, err := ours.Object(map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "a"}, "data": map[string]any{
			"a.yaml": encoded("x: hunter2\n", "yaml"), "a.env": encoded("X=hunter2\n", "dotenv"), "key": encoded("hunter2", "binary"),
			"a.json": encoded("{\"x\": \"y\"}", "json"), "config": encoded("x: z\n", "yaml"), "plain": "aHVudGVyMg==", "odd": "%%%"}})
		if err != nil || !opened {
			t.Fatal(opened, err)
		}
		data := map[string]string{}
		for name, value := range got["data"].(map[string]any) {
			plain, _ := base64.StdEncoding.DecodeString(value.(string))
			data[name] = string(plain)
		}
		want := map[string]string{"a.yaml": "x: hunter2\n", "a.env": "X=hunter2\n", "key": "hunter2", "a.json": "{\n\t\"x\": \"y\"\n}\n", "config": "x: z\n", "plain": "hunter2", "odd": ""}
		if diff := cmp.Diff(want, data); diff != "" {
			t.Error(diff)
		}
	})
	for name, fields := range map[string]map[string]any{
		"not one that is to stay encrypted": {"kind": "Secret", "metadata": map[string]any{"annotations": map[string]any{"kustomize.toolkit.fluxcd.io/decrypt": "disabled"}},
			"data": map[string]any{"a.yaml": encoded("x: y\n", "yaml")}},
		"not one without anything encrypted": {"kind": "Secret", "data": map[string]any{"a": "aHVudGVyMg=="}},
		"not another kind's entries":         {"kind": "ConfigMap", "data": map[string]any{"a.yaml": encoded("x: y\n", "yaml")}},
	} {
		t.Run(name, func(t *testing.T) {
			got, opened, err := ours.Object(fields)
			if diff := cmp.Diff(fields, got); err != nil || opened || diff != "" {
				t.Error(opened, err, diff)
			}
		})
	}
}

func TestWhoeverHasNoKeyIsToldWhichIsWanted(t *testing.T) {
	wanted, second, other := sopstest.Identity(t), sopstest.Identity(t), sopstest.Identity(t)
	one := []sops.KeyGroup{sopstest.For(t, wanted)}
	foreign := &pgp.MasterKey{Fingerprint: "1234567890ABCDEF1234567890ABCDEF12345678", EncryptedKey: "x"}
	cases := map[string]struct {
		groups []sops.KeyGroup
		data   map[string][]byte
		want   []string
	}{
		"another key": {one, agekey(other), []string{"it is encrypted for the age recipients " + wanted.Recipient().String() + ", but Secret team/sops-age has the keys of " + other.Recipient().String()}},
		"no key":      {one, map[string][]byte{"key": []byte("x")}, []string{"Secret team/sops-age does not have an entry *.agekey"}},
		"keys of another kind": {one, map[string][]byte{"flux.asc": []byte("x"), "sops.vault-token": []byte("y")},
			[]string{"not have an entry *.agekey; not supported are flux.asc (an OpenPGP key), sops.vault-token (a token of Vault or OpenBao)"}},
		"one of two shares": {[]sops.KeyGroup{sopstest.For(t, wanted), sopstest.For(t, second)}, agekey(wanted), []string{second.Recipient().String(), "in 2 groups of which 2 are needed"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := sopstest.Encrypt(t, "password: hunter2\n", sopstest.Options{Format: "yaml", Groups: c.groups})
			_, err := keysOf(t, c.data).File(file, decrypt.YAML)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error: %v\nwant in it: %s", err, want)
				}
			}
		})
	}
	t.Run("encrypted for others only", func(t *testing.T) {
		tree := sops.Tree{Branches: sops.TreeBranches{{{Key: "a", Value: "ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]"}}},
			Metadata: sops.Metadata{KeyGroups: []sops.KeyGroup{{keys.MasterKey(foreign)}}, Version: "3.13.2", LastModified: time.Now(), MessageAuthenticationCode: "ENC[AES256_GCM,x]"}}
		file, err := sopstest.Store("yaml").EmitEncryptedFile(tree)
		if err != nil {
			t.Fatal(err)
		}
		_, err = keysOf(t, agekey(wanted)).File(file, decrypt.YAML)
		if err == nil || !strings.Contains(err.Error(), "it is encrypted for OpenPGP, but only age keys are supported") {
			t.Errorf("error: %v", err)
		}
	})
	t.Run("shares of both groups", func(t *testing.T) {
		file := sopstest.Encrypt(t, "password: hunter2\n", sopstest.Options{Format: "yaml", Groups: []sops.KeyGroup{sopstest.For(t, wanted), sopstest.For(t, second)}})
		both := map[string][]byte{"a.agekey": []byte(wanted.String()), "b.agekey": []byte(second.String())}
		plain, err := keysOf(t, both).File(file, decrypt.YAML)
		if err != nil || string(plain) != "password: hunter2\n" {
			t.Errorf("%q, %v", plain, err)
		}
	})
	t.Run("an entry that is no key", func(t *testing.T) {
		_, err := decrypt.NewKeys("Secret team/sops-age", map[string][]byte{"a.agekey": []byte("AGE-SECRET-KEY-1HUNTER2")}, sopsfile.Open)
		if err == nil || !strings.Contains(err.Error(), `entry "a.agekey" of Secret team/sops-age is not a list of age identities`) || strings.Contains(err.Error(), "HUNTER2") {
			t.Errorf("error: %v", err)
		}
	})
}

func TestKeysOfThisMachineAreNotUsed(t *testing.T) {
	id := sopstest.Identity(t)
	home := t.TempDir()
	file := filepath.Join(home, "sops", "age", "keys.txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(id.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("SOPS_AGE_KEY", id.String())
	t.Setenv("SOPS_AGE_KEY_FILE", file)
	t.Setenv("SOPS_AGE_KEY_CMD", "cat "+file)
	encrypted := sopstest.Encrypt(t, "password: hunter2\n", sopstest.Options{Format: "yaml", Groups: []sops.KeyGroup{sopstest.For(t, id)}})
	for name, data := range map[string]map[string][]byte{"none of ours": {}, "another of ours": agekey(sopstest.Identity(t))} {
		if plain, err := keysOf(t, data).File(encrypted, decrypt.YAML); err == nil {
			t.Errorf("%s: opened: %s", name, plain)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("a: ENC[x]\nsops:\n  mac: ENC[y]\n  age: []\n"))
	f.Add([]byte(`{"a": "ENC[x]", "sops": {"mac": "ENC[y]"}}`))
	keys, err := decrypt.NewKeys("x", nil, sopsfile.Open)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = keys.Verify(data)
		for _, format := range []decrypt.Format{decrypt.Binary, decrypt.Dotenv, decrypt.INI, decrypt.JSON, decrypt.YAML} {
			_, _ = keys.File(data, format)
		}
	})
}
