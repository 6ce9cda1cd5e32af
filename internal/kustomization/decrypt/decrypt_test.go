// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decrypt_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/pgp"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	sopsyaml "github.com/getsops/sops/v3/stores/yaml"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/kustomization/decrypt"
)

// encryption is how a file is encrypted.
type encryption struct {
	format        decrypt.Format
	groups        []sops.KeyGroup
	regex         string
	onlyEncrypted bool
}

func recipient(t *testing.T, identity *age.X25519Identity) *sopsage.MasterKey {
	t.Helper()
	key, err := sopsage.MasterKeyFromRecipient(identity.Recipient().String())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func store(format decrypt.Format) sops.Store {
	c := config.NewStoresConfig()
	switch format {
	case decrypt.Dotenv:
		return dotenv.NewStore(&c.Dotenv)
	case decrypt.INI:
		return ini.NewStore(&c.INI)
	case decrypt.JSON:
		return json.NewStore(&c.JSON)
	case decrypt.YAML:
		return sopsyaml.NewStore(&c.YAML)
	}
	return json.NewBinaryStore(&c.JSONBinary)
}

// encrypt encrypts with sops' own library, as its command does.
func encrypt(t *testing.T, plain string, e encryption) []byte {
	t.Helper()
	writer := store(e.format)
	branches, err := writer.LoadPlainFile([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	tree := sops.Tree{Branches: branches, Metadata: sops.Metadata{KeyGroups: e.groups, EncryptedRegex: e.regex, MACOnlyEncrypted: e.onlyEncrypted, Version: "3.13.2"}}
	key, errs := tree.GenerateDataKeyWithKeyServices([]keyservice.KeyServiceClient{keyservice.NewLocalClient()})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	cipher := aes.NewCipher()
	code, err := tree.Encrypt(key, cipher)
	if err != nil {
		t.Fatal(err)
	}
	tree.Metadata.LastModified = time.Now().UTC()
	if tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(code, key, tree.Metadata.LastModified.Format(time.RFC3339)); err != nil {
		t.Fatal(err)
	}
	out, err := writer.EmitEncryptedFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func keysOf(t *testing.T, data map[string][]byte) *decrypt.Keys {
	t.Helper()
	keys, err := decrypt.NewKeys("Secret team/sops-age", data)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func agekey(identity *age.X25519Identity) map[string][]byte {
	return map[string][]byte{"identity.agekey": []byte("# created: today\n# public key: x\n" + identity.String() + "\n")}
}

func TestEveryFormatIsOpened(t *testing.T) {
	id := identity(t)
	groups := []sops.KeyGroup{{recipient(t, id)}}
	ours := keysOf(t, agekey(id))
	cases := map[string]struct {
		name   string
		format decrypt.Format
		plain  string
	}{
		"YAML":   {"a.yaml", decrypt.YAML, "password: hunter2\nnumber: 3\nlist:\n    - a\n    - true\n"},
		"JSON":   {"a.json", decrypt.JSON, "{\n\t\"password\": \"hunter2\"\n}\n"},
		"dotenv": {"a.env", decrypt.Dotenv, "PASSWORD=hunter2\nUSER=me\n"},
		"INI":    {"a.ini", decrypt.INI, "[section]\npassword = hunter2\n"},
		"bytes":  {"a.key", decrypt.Binary, "-----BEGIN KEY-----\n\x01hunter2\n"},
		"docker": {".dockerconfigjson", decrypt.JSON, "{\n\t\"auths\": {\n\t\t\"r\": {\n\t\t\t\"auth\": \"aHVudGVyMg==\"\n\t\t}\n\t}\n}\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := encrypt(t, c.plain, encryption{format: c.format, groups: groups})
			if bytes.Contains(file, []byte("hunter2")) {
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
				t.Errorf("what is not encrypted: %q, %v", same, err)
			}
		})
	}
}

func TestFilesThatWereChangedAreRefused(t *testing.T) {
	id := identity(t)
	groups := []sops.KeyGroup{{recipient(t, id)}}
	ours := keysOf(t, agekey(id))
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n    name: a\n    labels:\n        x: plain\nstringData:\n    password: hunter2\n    other: correct horse\n"
	file := string(encrypt(t, secret, encryption{format: decrypt.YAML, groups: groups, regex: "^(data|stringData)$"}))
	values := []string{between(t, file, "password: ", "\n"), between(t, file, "other: ", "\n")}
	only := string(encrypt(t, secret, encryption{format: decrypt.YAML, groups: groups, regex: "^(data|stringData)$", onlyEncrypted: true}))
	stream := string(encrypt(t, secret+"---\n"+strings.ReplaceAll(secret, "name: a", "name: b"), encryption{format: decrypt.YAML, groups: groups, regex: "^(data|stringData)$"}))
	cases := map[string]struct{ file, want string }{
		"nothing changed": {file: file},
		"the rest edited, where only what is encrypted counts": {file: strings.Replace(only, "x: plain", "x: edited", 1)},
		"two documents of one file":                            {file: stream},
		"two files one behind the other":                       {file: file + "---\n" + only},
		"one that is not encrypted behind it":                  {file: file + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"},
		"not to be decrypted":                                  {file: strings.Replace(strings.Replace(file, "x: plain", "x: edited", 1), "    labels:", "    annotations:\n        kustomize.toolkit.fluxcd.io/decrypt: disabled\n    labels:", 1)},
		"the rest edited":                                      {file: strings.Replace(file, "x: plain", "x: edited", 1), want: "its message authentication code is not that of its content"},
		"a document taken away":                                {file: stream[:strings.Index(stream, "\n---\n")+1], want: "its message authentication code is not that of its content"},
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
	id := identity(t)
	groups := []sops.KeyGroup{{recipient(t, id)}}
	ours := keysOf(t, agekey(id))
	object := func(text []byte) map[string]any {
		fields := map[string]any{}
		if err := yaml.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	encoded := func(text string, format decrypt.Format) string {
		return base64.StdEncoding.EncodeToString(encrypt(t, text, encryption{format: format, groups: groups}))
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  x: aHVudGVyMg==\nstringData:\n  count: \"3\"\n"

	t.Run("a whole object, although kustomize has changed it", func(t *testing.T) {
		encrypted := object(encrypt(t, secret, encryption{format: decrypt.YAML, groups: groups, regex: "^(data|stringData)$"}))
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
			"a.yaml": encoded("x: hunter2\n", decrypt.YAML), "a.env": encoded("X=hunter2\n", decrypt.Dotenv), "key": encoded("hunter2", decrypt.Binary),
			"a.json": encoded("{\"x\": \"y\"}", decrypt.JSON), "config": encoded("x: z\n", decrypt.YAML), "plain": "aHVudGVyMg==", "odd": "%%%"}})
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
			"data": map[string]any{"a.yaml": encoded("x: y\n", decrypt.YAML)}},
		"not one without anything encrypted": {"kind": "Secret", "data": map[string]any{"a": "aHVudGVyMg=="}},
		"not another kind's entries":         {"kind": "ConfigMap", "data": map[string]any{"a.yaml": encoded("x: y\n", decrypt.YAML)}},
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
	wanted, second, other := identity(t), identity(t), identity(t)
	one := []sops.KeyGroup{{recipient(t, wanted)}}
	foreign := &pgp.MasterKey{Fingerprint: "1234567890ABCDEF1234567890ABCDEF12345678", EncryptedKey: "x"}
	cases := map[string]struct {
		groups []sops.KeyGroup
		data   map[string][]byte
		want   []string
	}{
		"another key": {one, agekey(other), []string{"it is encrypted for the age recipients " + wanted.Recipient().String() + ", and Secret team/sops-age has the keys of " + other.Recipient().String()}},
		"no key":      {one, map[string][]byte{"key": []byte("x")}, []string{"Secret team/sops-age has no entry *.agekey"}},
		"keys of another kind": {one, map[string][]byte{"flux.asc": []byte("x"), "sops.vault-token": []byte("y")},
			[]string{"no entry *.agekey; not used are flux.asc (an OpenPGP key), sops.vault-token (a token of Vault or OpenBao)"}},
		"one of two shares": {[]sops.KeyGroup{{recipient(t, wanted)}, {recipient(t, second)}}, agekey(wanted), []string{second.Recipient().String(), "in 2 groups of which 2 are needed"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := encrypt(t, "password: hunter2\n", encryption{format: decrypt.YAML, groups: c.groups})
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
		file, err := store(decrypt.YAML).EmitEncryptedFile(tree)
		if err != nil {
			t.Fatal(err)
		}
		_, err = keysOf(t, agekey(wanted)).File(file, decrypt.YAML)
		if err == nil || !strings.Contains(err.Error(), "it is encrypted for OpenPGP, and only age keys are used here") {
			t.Errorf("error: %v", err)
		}
	})
	t.Run("shares of both groups", func(t *testing.T) {
		file := encrypt(t, "password: hunter2\n", encryption{format: decrypt.YAML, groups: []sops.KeyGroup{{recipient(t, wanted)}, {recipient(t, second)}}})
		both := map[string][]byte{"a.agekey": []byte(wanted.String()), "b.agekey": []byte(second.String())}
		plain, err := keysOf(t, both).File(file, decrypt.YAML)
		if err != nil || string(plain) != "password: hunter2\n" {
			t.Errorf("%q, %v", plain, err)
		}
	})
	t.Run("an entry that is no key", func(t *testing.T) {
		_, err := decrypt.NewKeys("Secret team/sops-age", map[string][]byte{"a.agekey": []byte("AGE-SECRET-KEY-1HUNTER2")})
		if err == nil || !strings.Contains(err.Error(), `entry "a.agekey" of Secret team/sops-age is not a list of age identities`) || strings.Contains(err.Error(), "HUNTER2") {
			t.Errorf("error: %v", err)
		}
	})
}

func TestKeysOfThisMachineAreNotUsed(t *testing.T) {
	id := identity(t)
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
	encrypted := encrypt(t, "password: hunter2\n", encryption{format: decrypt.YAML, groups: []sops.KeyGroup{{recipient(t, id)}}})
	for name, data := range map[string]map[string][]byte{"none of ours": {}, "another of ours": agekey(identity(t))} {
		if plain, err := keysOf(t, data).File(encrypted, decrypt.YAML); err == nil {
			t.Errorf("%s: opened: %s", name, plain)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("a: ENC[x]\nsops:\n  mac: ENC[y]\n  age: []\n"))
	f.Add([]byte(`{"a": "ENC[x]", "sops": {"mac": "ENC[y]"}}`))
	keys, err := decrypt.NewKeys("x", nil)
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
