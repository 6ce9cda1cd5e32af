terraform {
  encryption {
    key_provider "pbkdf2" "passphrase" {
      passphrase = "correct horse battery staple"
      iterations = 200000
    }
    method "aes_gcm" "sealed" {
      keys = key_provider.pbkdf2.passphrase
    }
    state {
      method = method.aes_gcm.sealed
    }
  }
}

resource "terraform_data" "hidden" {
  input = "hidden"
}

output "hidden" {
  value = terraform_data.hidden.output
}
