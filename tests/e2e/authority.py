"""Certificates for servers of tests, signed by an authority that is made for the test."""
import shutil
import subprocess
import tempfile
from pathlib import Path


class Authority:
    """An authority and the certificates that it signs, in a temporary directory."""

    def __init__(self):
        self.place = Path(tempfile.mkdtemp(prefix="cadre-tls-"))
        self.file = self.place / "authority.pem"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                      "-subj", "/CN=an authority of a test", "-keyout", "authority.key", "-out", "authority.pem")
        (self.place / "index").write_text("")
        (self.place / "serial").write_text("01\n")

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.place, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise AssertionError(f"openssl {arguments[0]}: {done.stderr}")

    def certificate(self, name, hosts="IP:127.0.0.1,DNS:localhost", until=None, signed=True):
        """(certificate, key) as paths. until: YYYYMMDDHHMMSSZ in the past makes it an expired one."""
        (self.place / f"{name}.cnf").write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndatabase={self.place}/index\nserial={self.place}/serial\nnew_certs_dir={self.place}\n"
            f"default_md=sha256\npolicy=p\nx509_extensions=e\nunique_subject=no\n[p]\ncommonName=supplied\n"
            f"[e]\nsubjectAltName={hosts}\n[req]\ndistinguished_name=n\nx509_extensions=e\n[n]\n")
        common = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-config",
                  f"{name}.cnf", "-keyout", f"{name}.key"]
        if not signed:
            self._openssl("req", "-x509", "-days", "2", *common, "-out", f"{name}.pem")
        else:
            self._openssl("req", "-new", *common, "-out", f"{name}.csr")
            dates = ["-startdate", "20200101000000Z", "-enddate", until] if until else ["-days", "2"]
            self._openssl("ca", "-batch", "-notext", "-config", f"{name}.cnf", "-cert", "authority.pem", "-keyfile",
                          "authority.key", *dates, "-in", f"{name}.csr", "-out", f"{name}.pem")
        return self.place / f"{name}.pem", self.place / f"{name}.key"

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)
