"""The pages' front door: one look, one list of pages."""

from pathlib import Path

import streamlit as st

from dashboards.pages import overview

_HERE = Path(__file__).parent

st.set_page_config(page_title="Quartermaster", page_icon=str(_HERE / "static" / "mark.svg"), layout="wide")
pages = [st.Page(overview.render, title="Overview", default=True)]
st.navigation(pages, position="hidden").run()
