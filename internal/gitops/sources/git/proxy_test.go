// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestClientCertificates(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	_, private := edKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "reader"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	pool.AppendCertsFromPEM(crt)
	behind, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL.Scheme, p.Out.URL.Host = "http", behind.Host
	}})
	front.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	front.StartTLS()
	defer front.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	up := Upstream{URL: front.URL + "/central.git", Secret: map[string][]byte{
		"ca.crt": ca, "tls.crt": crt, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}}
	m := open(t, Options{})
	wantOne(t, look(t, m, up, main))
	_, err = m.Look(patient(t), Upstream{URL: up.URL, Secret: map[string][]byte{"ca.crt": ca}}, main)
	wantFailure(t, err, ReasonAuthentication, "client certificate")
}

func TestSSHThroughAProxy(t *testing.T) {
	server := gittest.New(t, gittest.SSH())
	commitTo(t, server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var through atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if socks(conn) == nil {
					through.Add(1)
				}
			}()
		}
	}()
	up := Upstream{URL: server.SSHURL("central"), Proxy: &url.URL{Scheme: "socks5", Host: listener.Addr().String()},
		Secret: map[string][]byte{"identity": server.Authorize(t), "known_hosts": server.KnownHosts()}}
	wantOne(t, look(t, open(t, Options{}), up, main))
	waitUntil(t, func() bool { return through.Load() == 2 })
}

// socks is a minimal SOCKS 5 proxy for one connection.
func socks(client net.Conn) error {
	begin := make([]byte, 2)
	if _, err := io.ReadFull(client, begin); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, client, int64(begin[1])); err != nil {
		return err
	}
	if _, err := client.Write([]byte{5, 0}); err != nil {
		return err
	}
	request := make([]byte, 10)
	if _, err := io.ReadFull(client, request); err != nil || request[3] != 1 {
		return errors.Join(err, errors.New("only addresses of IPv4"))
	}
	port := strconv.Itoa(int(binary.BigEndian.Uint16(request[8:])))
	server, err := net.Dial("tcp", net.JoinHostPort(net.IP(request[4:8]).String(), port))
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, client) // It ends when one of the two does.
	}()
	_, _ = io.Copy(client, server)
	return nil
}
